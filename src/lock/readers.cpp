// SPDX-License-Identifier: Apache-2.0
// The slow path of a read lock (first use, a lock without bias, occupied slots, waiting), and how a
// lock gets its bias.
#include "lock/bias.hpp"
#include "lock/holds.hpp"
#include "lock/observation.hpp"
#include "lock/parking.hpp"
#include "lock/sleep_note.hpp"
#include "lock/wait_queue.hpp"
#include "lock/waiting.hpp"
#include "lock/waking.hpp"
#include "platform/known_cpus.hpp"

namespace readmost::detail {

namespace {

// Whether other threads exist, so that the lock's line may have to come from another core. Checks
// one chunk of records only.
bool has_company(const thread_record& me) noexcept {
  return (chunk_of(me).used.load(platform::relaxed) & ~bit(number_of(me))) != 0;
}

// Starts the next period, and returns how many active reads of the last one are to be credited. A
// thread's first periods are short: where hundreds of threads start to read one lock, most of a
// millisecond would pass before enough of them have read it 48 times. Later their length varies, or
// the updates of a thread that reads locks in turn might always meet the same one. `rarely`: the
// next period is to be a long one. If this one was long and the next is not, the lock is credited
// with no more reads than a usual period has.
std::int32_t start_account_period(thread_record& me, bool rarely) noexcept {
  const std::int32_t reads = me.account_period.load(platform::relaxed);
  const std::uint64_t all = active_reads_of(me);
  constexpr std::int32_t variation = 16;
  const std::int32_t mean = rarely ? active_reads_per_rare_account : active_reads_per_account;
  const std::int32_t usual = mean - variation / 2 + static_cast<std::int32_t>(scattered(all) >> 60);
  const std::int32_t longer = 2 * reads + 2;
  const std::int32_t next = longer < usual ? longer : usual;
  me.active_reads.store(all, platform::relaxed);
  me.account_period.store(next, platform::relaxed);
  me.until_account.store(next, platform::relaxed);
  return reads < mean ? reads : mean;
}
static_assert(std::int32_t{1} << (64 - 60) == 16);

// Finds out how long the lock's line takes to come, where that may take long. The caller has just
// used the line: what others want is gone again.
void measure_line(const rwlock& lock, thread_record& me) noexcept {
  static constinit platform::atomic<std::uint32_t> average_look{0};
  const unsigned cpus = known_cpus();
  const std::uint32_t average = average_look.load(platform::relaxed);
  if (!bias::is_to_be_measured(cpus) || bias::is_slow_clock(average)) return;
  const std::uint64_t begin = platform::now();
  const std::uint64_t before = platform::now();
  // An acquire load, so that the time after it is not taken before it.
  (void)lock.state.load(platform::acquire);
  const std::uint64_t took = platform::now() - before;
  const std::uint64_t by_clock = before - begin;
  const std::uint32_t next = bias::average_of_clock(average, by_clock);
  if (next != average) average_look.store(next, platform::relaxed);
  auto& saved = me.saved[home_slot(&lock)];
  saved = bias::learnt(saved, took > by_clock ? took - by_clock : 0, cpus);
}

// Makes sure that no slot names the lock by a hold of an earlier life of its memory. False if
// another thread is at it.
bool is_unknown_to_slots(rwlock& lock) noexcept {
  // The orders here and in give_bias() have no letters: they keep the processor from clearing a
  // slot after the bias is there, which the checker cannot show, as it never delays a store.
  if ((lock.traits.load(platform::acquire) & rwlock::clean) != 0) return true;
  if ((lock.traits.fetch_or(rwlock::cleaning, platform::relaxed) & rwlock::cleaning) != 0)
    return false;
  if (!is_mutant(mutant::bias_over_old_slots)) {
    erase_passive_holds(domains[lock.domain], &lock);
  }
  lock.traits.fetch_or(rwlock::clean, platform::release);
  return true;
}

// Biases the lock; the caller holds it. Not while a writer waits that keeps readers out. One that
// has asked to be next does not, if readers are preferred: they might come in for ever, and keep
// both the writer and the bias waiting. It is woken instead, and closes the lock to take the bias
// away.
[[gnu::noinline]] void give_bias(rwlock& lock, rules how) noexcept {
  const std::uint64_t in_the_way = rwlock::any_bias | rwlock::writing | rwlock::claiming |
                                   rwlock::waiting_writers | rwlock::upgrading |
                                   (how.prefers == preference::reader ? 0 : rwlock::handoff);
  for (;;) {
    // Before the look at the traits: if another thread forbids the bias after that look, the
    // compare-and-swap fails.
    std::uint64_t state = lock.state.load(platform::acquire);
    if (!bias::is_allowed(lock, how)) {
      lock.balance.store(bias::lowest, platform::relaxed);  // not to be asked at every read
      return;
    }
    if ((state & in_the_way) != 0 || !is_unknown_to_slots(lock)) return;
    std::uint64_t next = (state | bias::bit_to_give(lock)) & ~rwlock::draining;
    const wake_up wake(next, how.prefers);
    if (lock.state.compare_exchange_strong(state, next, platform::release, platform::relaxed)) {
      wake.carry_out(sleep_word(lock));
      return;
    }
  }
}

// Credits the account of a lock that is not biased with what its bias would have saved, debits it
// with the writes, and biases the lock if that is earned. The caller holds the lock.
[[gnu::always_inline]] inline void credit(rwlock& lock, rules how, std::int32_t saved,
                                          bias::asked whom) noexcept {
  if ((lock.state.load(platform::relaxed) & rwlock::any_bias) != 0) return;
  bias::debit_writes(lock, whom);
  bias::add(lock, saved);
  if (bias::is_earned(lock)) give_bias(lock, how);
}

// Decides when a reader behind waiting writers checks whether writers have passed it over: after a
// millisecond, then less and less often, but not after its caller's deadline.
class patience {
 public:
  explicit patience(const rwlock& lock) noexcept
      : first_seen_(lock.writer_exits.load(platform::relaxed)) {}

  const platform::deadline* until(const platform::deadline* callers) noexcept {
    callers_is_next_ = callers != nullptr && platform::time_left(*callers) < interval_;
    if (callers_is_next_) return callers;
    next_ = platform::in(interval_);
    if (interval_ < longest) interval_ *= 2;
    return &next_;
  }

  bool is_callers() const noexcept { return callers_is_next_; }

  bool passed_over(const rwlock& lock) const noexcept {
    return lock.writer_exits.load(platform::relaxed) != first_seen_;
  }

 private:
  static constexpr std::uint64_t shortest = 1'000'000;
  static constexpr std::uint64_t longest = 64 * shortest;
  std::uint64_t interval_ = shortest;
  std::uint16_t first_seen_;
  bool callers_is_next_ = false;
  platform::deadline next_{};
};

// Whether a reader that is not counted is to leave the phase of the readers to those that are.
// Where threads may outnumber the CPUs one of those may lack a CPU; if others passed by meanwhile,
// they might use that CPU for all of a time slice, and the next thread of their kind for one more.
// Under phase-fair preference each writer may end one phase and begin the next, and that costs
// sleeps on both sides: so others pass until they have seen the phase last for longer than a thread
// takes to wake up on a free CPU.
bool leaves_phase(const rwlock& lock, thread_record* me, std::uint64_t state,
                  preference prefers) noexcept {
  constexpr std::uint64_t usual = 50'000;
  if (!is_phase_awaited(state, prefers) || !may_lack_cpus(me) ||
      is_mutant(mutant::phase_open_to_all)) {
    return false;
  }
  if (prefers == preference::writer) return true;
  const std::uint64_t writers = lock.writer_exits.load(platform::relaxed);
  const std::uint64_t phase = address(lock) ^ writers << 48;
  const std::uint64_t now = platform::now();
  if (me->phase_seen != phase) {
    me->phase_seen = phase;
    me->phase_seen_since = now;
  }
  return now - me->phase_seen_since > usual;
}

// A thread on its way to a read hold, when the fast paths have failed.
class reader {
 public:
  reader(rwlock& lock, thread_record* me, rules how) noexcept
      : lock_(lock),
        me_(me),
        how_(how),
        holds_already_(how.recursive && holds_shared(me, lock)),
        passed_once_at_most_(how.prefers == preference::phase_fair && !may_lack_cpus(me)),
        exits_seen_(lock.writer_exits.load(platform::relaxed)),
        patience_(lock),
        spin_(me, lock,
              {.may_stay_away = !passed_once_at_most_,
               .behind_writers = counts_writers(how.prefers),
               .until = how.until}),
        watch_(lock, false) {}

  outcome acquire() noexcept {
    for (;;) {
      std::uint64_t state = lock_.state.load(platform::relaxed);
      if ((state & rwlock::any_bias) != 0 && me_ != nullptr) {
        come_online(*me_);
        if (lock_shared_nested(lock_, *me_)) return leave_queue(outcome::acquired);
        state = lock_.state.load(platform::relaxed);
      }
      const bool gives_way = leaves_to_counted(state);
      if (!gives_way && is_open(state)) {
        if (rwlock::is_full(state)) return leave_queue(outcome::overflow);
        if (enter(state)) return outcome::acquired;
        bias::credit_lost_read(lock_, me_, state);
        has_lost_race_ = true;
        if (!spin_.spin(true)) spin_.restart();
        continue;
      }

      credit_passive_reads(state);
      if (how_.try_only) return outcome::busy;
      watch_.start();
      if (expired_) {
        return is_mutant(mutant::counted_for_ever) ? outcome::timed_out
                                                   : leave_queue(outcome::timed_out);
      }
      const bool claiming = (state & rwlock::claiming) != 0;
      if (gives_way) {
        give_way();
      } else if (!claiming && stays_away(state)) {
        exits_seen_ = lock_.writer_exits.load(platform::relaxed);
      } else if (is_to_be_counted(state)) {
        join_queue(state);
      } else if (counted_ && starving_ && (state & rwlock::reader_phase) == 0) {
        begin_phase();
      } else if (!has_slept_ && spin_.spin(claiming || looks_for_writers())) {
        // A waiting writer that could be inside may lack the CPU.
        if ((state & rwlock::writing) == 0 && spin_.has_been_long()) platform::yield();
      } else if (!asks_for_turn(state)) {
        sleep(state);
      }
    }
  }

 private:
  bool is_open(std::uint64_t state) const noexcept {
    if ((state & rwlock::writing) != 0) return false;
    return holds_already_ || (((state & rwlock::claiming) == 0 || how_.try_only) &&
                              admits_readers(state, how_.prefers));
  }

  // Whether it gives way to the readers of an awaited phase. Not for long: this may be a signal
  // handler that has interrupted one of them.
  bool leaves_to_counted(std::uint64_t state) noexcept {
    if (counted_ || has_slept_ || holds_already_ || how_.try_only || has_given_way_) return false;
    if (gives_way_) return is_phase_awaited(state, how_.prefers);
    gives_way_ = leaves_phase(lock_, me_, state, how_.prefers);
    return gives_way_;
  }

  void give_way() noexcept {
    if (!spin_.spin(false)) has_given_way_ = true;
    if (spin_.has_been_long()) platform::yield();
  }

  // Takes an active hold; false if the state is no longer `state`, which becomes what it is.
  bool enter(std::uint64_t& state) noexcept {
    std::uint64_t next = state + rwlock::one_reader;
    if (counted_) next = rwlock::without_waiter(next, waits_as::reader);
    const bool noted = me_ != nullptr && notes_holds(state);
    if (noted) note_hold(*me_, lock_);
    const bool over_passive = me_ != nullptr && note_over_passive_hold(*me_, lock_);
    // (J2) Pairs with (M).
    if (!stop_waiting(lock_, me_, counted_, waits_as::reader, state, next,
                      at(letter::J2, platform::acquire))) {
      if (over_passive) take_off_over_passive_hold(*me_, lock_);
      if (noted) take_off_note(*me_, lock_);
      return false;
    }
    if (me_ == nullptr) return true;
    if (lock_statistics_on()) note_read(address(lock_), false);
    if (platform::take_one(me_->until_account)) {
      update_account(lock_, how_);
    } else if (has_lost_race_) {
      credit(lock_, how_, 0,
             bias::asked::others);  // what has been credited meanwhile may be enough
    }
    return true;
  }

  // Credits them once, when the reader sees a writer revoke the bias.
  void credit_passive_reads(std::uint64_t state) noexcept {
    if ((state & rwlock::claiming) == 0 || credited_ || me_ == nullptr) return;
    if (bias::is_to_credit(*me_)) bias::credit_passive_reads(lock_, *me_, true);
    credited_ = true;
  }

  // A reader that was woken and found the lock taken again is counted: it gets a turn when the
  // writer leaves, under writer preference only if no other writer waits. Under phase-fair
  // preference, if threads have CPUs, so is one behind a writer that has come after it, or will:
  // it waits for those two. Others are not, since each would have the lock's line come to be
  // counted and once more to enter, and during a revocation before it could report. And a counted
  // reader that lacks a CPU has the lock wait for it.
  bool is_to_be_counted(std::uint64_t state) const noexcept {
    if (counted_ || !can_be_counted(state, waits_as::reader)) return false;
    if (has_slept_) return true;
    if (!passed_once_at_most_) return false;
    return ((state & rwlock::writing) != 0 && (state & rwlock::waiting_writers) != 0) ||
           lock_.writer_exits.load(platform::relaxed) != exits_seen_;
  }

  // So that it sees a second writer before there is a third.
  bool looks_for_writers() const noexcept { return passed_once_at_most_ && !counted_; }

  // Before its first sleep a reader asks for a turn, by being counted, if writers stay inside for
  // long. Without one, the writer that leaves would be inside again before the reader is awake; and
  // that the lock waits until then hardly matters beside so long a write. Writers stay for long if
  // none has left during the spin, or few during two of them. Under phase-fair preference it asks
  // in any case. False if the reader is to sleep now, true if it is to look at the lock again.
  bool asks_for_turn(std::uint64_t state) noexcept {
    if (has_slept_ || counted_) return false;
    if (how_.prefers != preference::phase_fair) {
      const std::uint16_t now = lock_.writer_exits.load(platform::relaxed);
      const auto exits = static_cast<std::uint16_t>(now - exits_seen_);
      if (exits > few_exits) return false;
      if (exits != 0 && !has_spun_again_) {
        has_spun_again_ = true;
        exits_seen_ = now;
        spin_.restart();
        return true;
      }
    }
    if (!can_be_counted(state, waits_as::reader)) return false;
    join_queue(state);
    return true;
  }

  void join_queue(std::uint64_t state) noexcept {
    counted_ =
        start_waiting(lock_, me_, waits_as::reader, state, with_waiter(state, waits_as::reader));
  }

  // A counted reader that starves under writer preference gets its turn before writers that wait,
  // together with all that are counted.
  void begin_phase() noexcept {
    open_door(lock_, how_.prefers, platform::relaxed,
              [](std::uint64_t state) { return state | rwlock::reader_phase; });
  }

  // For exits that do not change the state otherwise.
  outcome leave_queue(outcome result) noexcept {
    if (!counted_) return result;
    note_waited(me_);
    open_door(lock_, how_.prefers, platform::relaxed,
              [](std::uint64_t state) { return rwlock::without_waiter(state, waits_as::reader); });
    return result;
  }

  bool stays_away(std::uint64_t state) noexcept {
    return spin_.has_stayed_away(state, [this] {
      watch_.before_sleep();
      prepare_sleep();
    });
  }

  void prepare_sleep() noexcept {
    settle_before_sleep(me_);
    sleep_.take(me_, lock_, sleeps_as::reader, how_);
  }

  // Sleeps until another thread opens the door, unless the state has changed.
  void sleep(std::uint64_t state) noexcept {
    watch_.before_sleep();
    const std::uint64_t parked = state | rwlock::readers_parked;
    if (parked != state && !lock_.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      return;
    }
    prepare_sleep();
    const bool looks_up = how_.prefers == preference::writer && !starving_;
    const bool timed_out =
        parking::sleep_as_reader(sleep_word(lock_), static_cast<std::uint32_t>(parked),
                                 looks_up ? patience_.until(how_.until) : how_.until) ==
        platform::wake_reason::timed_out;
    if (looks_up) {
      expired_ = timed_out && patience_.is_callers();
      starving_ = timed_out && !expired_ && patience_.passed_over(lock_);
    } else {
      expired_ = timed_out;
    }
    has_slept_ = true;
  }

  static constexpr std::uint16_t few_exits = 2;

  rwlock& lock_;
  thread_record* const me_;
  const rules how_;
  const bool holds_already_;
  const bool passed_once_at_most_;  // by a writer that came later
  std::uint16_t exits_seen_;        // when the spin began
  bool has_spun_again_ = false;
  bool has_lost_race_ = false;
  bool credited_ = false;
  bool counted_ = false;    // in waiting_readers
  bool gives_way_ = false;  // to readers that are counted
  bool has_given_way_ = false;
  bool has_slept_ = false;
  bool starving_ = false;  // writers have passed it over for long
  bool expired_ = false;   // the caller's deadline has passed
  patience patience_;
  spinner spin_;
  wait_watch watch_;
  sleep_note sleep_;
};

// Read-locks actively if the fast path has failed only because writers wait that the caller may
// pass, or because statistics per lock keep it closed.
bool enter_at_once(rwlock& lock, thread_record& me, rules how) noexcept {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  if ((state & closed_to_active_readers) != 0 || !admits_readers(state, how.prefers) ||
      leaves_phase(lock, &me, state, how.prefers)) {
    return false;
  }
  const bool counts = lock_statistics_on();
  if ((state & rwlock::ready) == 0 && !counts) return false;
  // Unavailable for an observed lock, too, because the first note is taken.
  const active_attempt attempt = enter_actively(notes_holds(state), lock, me, state);
  if (attempt == active_attempt::unavailable) return false;
  if (counts) note_read(address(lock), false);
  if (attempt == active_attempt::account_due) update_account(lock, how);
  return true;
}

}  // namespace

void update_account(rwlock& lock, rules how) noexcept {
  thread_record* const me = enlist(lock.domain);
  if (me == nullptr) return;
  if (domain_of(*me).version.load(platform::relaxed) != me->seen.load(platform::relaxed)) {
    report(*me);
  }
  const bool among_others = has_company(*me);
  // For a thread that is alone an update costs as much as a bias saves in several reads; and while
  // the bias is far from earned, updates change nothing.
  const bool rarely = !among_others || bias::is_far_from_earned(lock);
  const std::int32_t reads = start_account_period(*me, rarely);
  if (among_others) measure_line(lock, *me);
  const bool shared = among_others && !bias::is_used_alone(lock, *me);
  // Others may be there, but none that has read this lock of late or that a revocation would ask.
  const bool alone = !shared && is_alone_in_index(domain_of(*me), *me);
  credit(lock, how, bias::credited_by_update(reads, bias::saved_by_read(lock, *me, shared)),
         alone ? bias::asked::nobody : bias::asked::others);
  bias::note_account(lock, *me);
}

outcome lock_shared_slow(rwlock& lock, rules how) noexcept {
  thread_record* me = enlist(lock.domain);
  meet(lock, me, how);
  if (me != nullptr && enter_at_once(lock, *me, how)) return outcome::acquired;
  const auto acquire = [&] { return reader(lock, me, how).acquire(); };
  return is_observed() ? observed(lock, hold_kind::read, how, acquire) : acquire();
}

}  // namespace readmost::detail
