// The slow paths of the lock: active readers, writers, revocation, waiting.
//
// States, and who may enter:
//   biased             readers passively (and actively, when out of slots); a writer claims first
//   neither            readers actively; a writer by one compare-and-swap if there is none
//   writing, no grant  a writer has claimed the lock and finds out who is inside; all others wait,
//                      which is bounded: it gets the lock or backs out
//   writing, grant     the writer is inside
//   draining           a writer found passive readers inside and backed out; a writer claims first
//                      and looks into the slots, but needs no consensus
// Under writer preference a writer that waits is counted in waiting_writers, which keeps the lock
// without bias and new readers out. Under reader preference it leaves no trace but writers_parked:
// readers come in, also passively, so a reader inside may wait for another one that is still to
// come (BRAVO's Listing 1 hangs there), and a writer that sleeps or is off its CPU slows nobody
// down. Phase-fair is writer preference in which readers that wait are counted too: a writer that
// leaves gives them their turn, in which writers stay out until the last of them is in. A reader
// that starves under writer preference takes such a turn.
// A reader that upgrades is one more writer that waits, ahead of the others because its own read
// hold keeps them out, and the only one with `upgrading`.
//
// Nobody sleeps for ever: while writers sleep on the state, either writers_parked is set and there
// is somebody inside who sees it when leaving, or a writer that was woken in the name of all has
// yet to enter (and sets it again) or to give up (and wakes the next). Whoever gives the bias wakes
// one too. An upgrader sleeps with upgrader_parked set; the last other reader to leave clears it.
#include "lock/bias.hpp"
#include "lock/holds.hpp"
#include "lock/parking.hpp"
#include "lock/waiting.hpp"
#include "platform/probes.hpp"
#include "statistics/lock_statistics.hpp"

namespace readmost::detail {

namespace {

// Waiters sleep on the half of the state that readers do not change as they come and go.
platform::futex_word sleep_word(const rwlock& lock) noexcept {
  return platform::futex_of_low_half(lock.state);
}

void meet(rwlock& lock) noexcept {
  if ((lock.traits.load(platform::relaxed) & rwlock::met) != 0) return;
  if ((lock.traits.fetch_or(rwlock::met, platform::relaxed) & rwlock::met) == 0) {
    domains[lock.domain].locks_met.fetch_add(1, platform::relaxed);
    if (lock_statistics_on()) note_meeting(address(lock));
  }
}

// --- Waking ------------------------------------------------------------------------------------

// Whom the thread that opens the door to `next` has to wake. Bits of those that will be woken are
// taken out of `next`.
struct wake_up {
  bool readers = false;
  bool writer = false;
  // The readers may all have given up just now; somebody has to go on.
  bool writer_if_no_reader = false;

  bool upgrader = false;

  // With `all_readers`, those too that do not come first: some of them may be inside already.
  wake_up(std::uint64_t& next, preference prefers, bool all_readers = false) noexcept {
    if ((next & rwlock::writing) != 0 || is_mutant(mutant::lost_wakeup)) return;
    const bool readers_first = (next & rwlock::waiting_writers) == 0 ||
                               prefers == preference::reader || (next & rwlock::readers_turn) != 0;
    if ((readers_first || all_readers) && (next & rwlock::readers_parked) != 0) {
      next &= ~rwlock::readers_parked;
      readers = true;
    }
    if ((next & rwlock::upgrader_parked) != 0) {
      next &= ~rwlock::upgrader_parked;
      upgrader = true;
    }
    // Active readers inside will wake a writer when they leave, passive ones will not.
    const bool writer_parked = (next & rwlock::writers_parked) != 0 &&
                               (rwlock::readers(next) <= 0 || (next & rwlock::biased) != 0);
    if (writer_parked && (!readers || !readers_first || (next & rwlock::biased) != 0)) {
      next &= ~rwlock::writers_parked;
      writer = true;
    }
    writer_if_no_reader = writer_parked && !writer;
  }

  // Uses only the address of the lock, which may be gone.
  void carry_out(platform::futex_word word) const noexcept {
    int woken = 0;
    if (readers) woken = parking::wake_readers(word);
    // All: those that waited for a claim to be decided are not counted, and have to hear it too.
    if (upgrader) {
      platform::futex_wake(word, is_mutant(mutant::one_upgrader_woken) ? 1 : INT32_MAX,
                           parking::upgrader);
    }
    if (writer || (writer_if_no_reader && woken == 0)) {
      platform::futex_wake(word, 1, parking::writers);
    }
  }
};

// Changes the state by `change` and wakes whom that lets in.
template <class Change>
void open_door(rwlock& lock, preference prefers, std::memory_order order, Change change,
               bool all_readers = false) noexcept {
  const platform::futex_word word = sleep_word(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    std::uint64_t next = change(state);
    const wake_up wake(next, prefers, all_readers);
    if (lock.state.compare_exchange_weak(state, next, order, platform::relaxed)) {
      wake.carry_out(word);
      return;
    }
  }
}

// --- Waiting -----------------------------------------------------------------------------------

bool counts_writers(preference prefers) noexcept {
  return prefers != preference::reader;
}

// For a fork's child, where the waiting thread is no more. Set after it is counted and cleared
// before it is not: in between the child takes it for somebody that still waits.
void note_waiting(thread_record* me, const rwlock& lock, waits_as as) noexcept {
  if (me != nullptr) {
    me->waiting_in.store(address(lock) | static_cast<std::uintptr_t>(as), platform::relaxed);
  }
}

void note_waited(thread_record* me) noexcept {
  if (me != nullptr) me->waiting_in.store(0, platform::relaxed);
}

// Room in the state to count one more; there is for 65,535 of a kind.
bool can_be_counted(std::uint64_t state, waits_as as) noexcept {
  const std::uint64_t field = as == waits_as::reader     ? rwlock::waiting_readers
                              : as == waits_as::upgrader ? 0
                                                         : rwlock::waiting_writers;
  return field == 0 || (state & field) != field;
}

std::uint64_t with_waiter(std::uint64_t state, waits_as as) noexcept {
  switch (as) {
    case waits_as::writer:
      return state + rwlock::one_writer;
    case waits_as::reader:
      return state + rwlock::one_waiting_reader;
    case waits_as::upgrader:
      return state | rwlock::upgrading;
    case waits_as::counted_upgrader:
      return (state | rwlock::upgrading) + rwlock::one_writer;
  }
  return state;
}

// Changes the state so that the caller is counted as waiting; false if it is no longer `state`.
bool start_waiting(rwlock& lock, thread_record* me, waits_as as, std::uint64_t state,
                   std::uint64_t next) noexcept {
  if (!lock.state.compare_exchange_weak(state, next, platform::relaxed)) return false;
  note_waiting(me, lock, as);
  return true;
}

// Changes the state so that the caller, if it was `counted`, waits no more; false as above.
bool stop_waiting(rwlock& lock, thread_record* me, bool counted, waits_as as, std::uint64_t state,
                  std::uint64_t next, std::memory_order order) noexcept {
  if (counted) note_waited(me);
  if (lock.state.compare_exchange_strong(state, next, order, platform::relaxed)) return true;
  if (counted) note_waiting(me, lock, as);
  return false;
}

// --- Readers -----------------------------------------------------------------------------------

bool holds_shared(const thread_record* me, const rwlock& lock) noexcept {
  // A thread whose holds are not all on record may hold anything.
  if (me == nullptr || me->untracked != 0) return true;
  for (const auto& slot : me->held) {
    if ((slot.load(platform::relaxed) & ~held_active) == address(lock)) return true;
  }
  return false;
}

// Whether this is a signal handler that interrupted the very writer who is to decide.
bool is_deciding(const thread_record* me, const rwlock& lock) noexcept {
  return me != nullptr && me->deciding.load(platform::relaxed) == address(lock);
}

void change_elsewhere(thread_record& me, std::int32_t by) noexcept {
  me.elsewhere.store(me.elsewhere.load(platform::relaxed) + static_cast<std::uint32_t>(by),
                     platform::relaxed);
}

// Calls visit(slot, is_home) for the caller's free slots, the one of the lock first, until it
// returns true; false if it never does. A slot that is not home counts in `elsewhere` while
// visited.
template <class Visit>
bool with_free_slot(thread_record& me, const rwlock& lock, Visit visit) noexcept {
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = 0; i < held_slots; ++i) {
    auto& slot = me.held[(home + i) % held_slots];
    if (!is_free(slot.load(platform::relaxed))) continue;
    if (i != 0) change_elsewhere(me, +1);
    if (visit(slot, i == 0)) return true;
    if (i != 0) change_elsewhere(me, -1);
    return false;
  }
  return false;
}

// Counts a read by its home slot, or apart if it is noted elsewhere.
void count_read(thread_record& me, const rwlock& lock, bool is_home, bool passive) noexcept {
  const std::size_t home = home_slot(&lock);
  if (lock_statistics_on()) note_read(me, is_home ? home : held_slots, address(lock), passive);
  auto& elsewhere = passive ? me.reads_elsewhere : me.active_elsewhere;
  auto& at_home = passive ? me.reads[home] : me.active_reads[home];
  count_own(is_home ? at_home : elsewhere);
}

// Clears a slot that a reader has filled too late; a writer may have taken it for a hold, and sleep
// over it.
void take_back(thread_record& me, platform::atomic<std::uintptr_t>& slot,
               std::uintptr_t left) noexcept {
  // (D2) Release, so that a writer whose (L) reads this instead of the (D) before it is behind that
  // section too.
  slot.store(left, at(letter::D2, platform::release));
  if (!is_mutant(mutant::unreported_retract)) report_after_unlock(me);
}

// Like try_lock_shared_passive(), but comes online first and uses any free slot.
bool lock_passively(rwlock& lock, thread_record& me) noexcept {
  if (!come_online(me)) return false;
  return with_free_slot(me, lock, [&](auto& slot, bool is_home) {
    const bool acquired = READMOST_VARIANT(check_before_publish, publish_and_look(lock, me, slot),
                                           look_and_publish(lock, me, slot));
    if (acquired) {
      count_read(me, lock, is_home, true);
    } else {
      take_back(me, slot, 0);
    }
    return acquired;
  });
}

// Notes and counts an active read hold of the caller.
void note_active_hold(thread_record& me, const rwlock& lock) noexcept {
  const bool noted = with_free_slot(me, lock, [&](auto& slot, bool is_home) {
    // (A3) As (A1) in rwlock.hpp.
    slot.store(held_actively(lock), at(letter::A3, platform::release));
    count_read(me, lock, is_home, false);
    return true;
  });
  if (noted) return;
  ++me.untracked;
  count_read(me, lock, false, false);
}

// Whether there are other threads, so that a count in the lock may have to come from another core.
// Looks at one chunk of them only.
bool has_company(const thread_record& me) noexcept {
  return (me.home->used.load(platform::relaxed) & ~(std::uint64_t{1} << me.number)) != 0;
}

// Gives the lock its bias; the caller holds it.
void give_bias(rwlock& lock, rules how) noexcept {
  if (!bias::is_allowed(lock, how)) {
    lock.balance.store(0, platform::relaxed);  // not to be asked at every read
    return;
  }
  constexpr std::uint64_t in_the_way =
      rwlock::biased | rwlock::writing | rwlock::waiting_writers | rwlock::upgrading;
  std::uint64_t state = lock.state.load(platform::relaxed);
  while ((state & in_the_way) == 0) {
    lock.grant.store(rwlock::not_granted, platform::relaxed);
    std::uint64_t next = (state | rwlock::biased) & ~rwlock::draining;
    const wake_up wake(next, how.prefers);
    // (M3) Release: who finds the bias finds the grant taken back.
    if (lock.state.compare_exchange_weak(state, next, at(letter::M3, platform::release),
                                         platform::relaxed)) {
      wake.carry_out(sleep_word(lock));
      return;
    }
  }
}

// The caller's compare-and-swap changed `before` by one reader.
void entered_actively(rwlock& lock, thread_record& me, std::uint64_t before, rules how) noexcept {
  note_active_hold(me, lock);
  if ((before & rwlock::biased) == 0 &&
      me.active_reads[home_slot(&lock)].load(platform::relaxed) % active_reads_per_account == 0) {
    settle_account(lock, how);
  }
}

// When a reader behind waiting writers looks whether it has been passed over: after a millisecond,
// then less and less often, but not after its caller's deadline.
class patience {
 public:
  explicit patience(const rwlock& lock) noexcept : first_seen_(lock.turn.load(platform::relaxed)) {}

  const platform::deadline* until(const platform::deadline* callers) noexcept {
    callers_is_next_ = callers != nullptr && platform::time_left(*callers) < interval_;
    if (callers_is_next_) return callers;
    next_ = platform::in(interval_);
    if (interval_ < longest) interval_ *= 2;
    return &next_;
  }

  bool is_callers() const noexcept { return callers_is_next_; }

  bool passed_over(const rwlock& lock) const noexcept {
    return lock.turn.load(platform::relaxed) != first_seen_;
  }

 private:
  static constexpr std::uint64_t shortest = 1'000'000;
  static constexpr std::uint64_t longest = 64 * shortest;
  std::uint64_t interval_ = shortest;
  std::uint16_t first_seen_;
  bool callers_is_next_ = false;
  platform::deadline next_{};
};

// A writer that is about to know whether it has the lock may yet be refused, so those who only try
// wait for that; false when they need not, or not any longer.
bool awaits_decision(const rwlock& lock, const thread_record* me, std::uint64_t state,
                     spinner& spin) noexcept {
  return (state & rwlock::writing) != 0 &&
         lock.grant.load(platform::relaxed) == rwlock::not_granted && !is_deciding(me, lock) &&
         spin.short_turn();
}

}  // namespace

void settle_account(rwlock& lock, rules how) noexcept {
  bias::credit_active_reads(lock, has_company(my_record(lock.domain)));
  if (bias::is_earned(lock)) give_bias(lock, how);
}

void retract_published(const rwlock& lock) noexcept {
  thread_record& me = my_record(lock.domain);
  take_back(me, me.held[home_slot(&lock)], held_before(lock));
}

outcome lock_shared_slow(rwlock& lock, rules how) noexcept {
  thread_record* me = enlist(lock.domain);
  meet(lock);
  const bool mine_already = how.recursive && holds_shared(me, lock);
  patience limit(lock);
  bool credited = false;
  bool starving = false;
  bool counted = false;  // in waiting_readers
  bool expired = false;
  spinner spin(me, &lock);
  wait_watch watch(lock, false);
  // Passively there is nothing to change in the state, so a waiter is taken out by itself.
  const auto stop_being_counted = [&] {
    if (!counted) return;
    note_waited(me);
    open_door(lock, how.prefers, platform::relaxed,
              [](std::uint64_t state) { return rwlock::without_waiter(state, waits_as::reader); });
  };
  for (;;) {
    // (V3) The grant that is looked at below is that of this state, or a later one.
    std::uint64_t state = lock.state.load(at(letter::V3, platform::acquire));
    if ((state & rwlock::biased) != 0 && me != nullptr) {
      if (lock_passively(lock, *me)) {
        stop_being_counted();
        return outcome::acquired;
      }
      state = lock.state.load(at(letter::V3, platform::acquire));
    }
    const bool open =
        (state & rwlock::writing) == 0 && ((state & rwlock::waiting_writers) == 0 ||
                                           (state & rwlock::readers_turn) != 0 || mine_already);
    if (open) {
      if (rwlock::readers(state) >= rwlock::max_readers) {
        stop_being_counted();
        return outcome::overflow;
      }
      std::uint64_t next = state + rwlock::one_reader;
      if (counted) next = rwlock::without_waiter(next, waits_as::reader);
      // (J2) Pairs with (M).
      if (!stop_waiting(lock, me, counted, waits_as::reader, state, next,
                        at(letter::J2, platform::acquire))) {
        if (spin.turn(false)) continue;
        spin.restart();
        continue;
      }
      if (me != nullptr) entered_actively(lock, *me, state, how);
      return outcome::acquired;
    }

    const std::uint8_t grant = lock.grant.load(platform::relaxed);
    if ((state & rwlock::writing) != 0 && grant != rwlock::granted && !credited && me != nullptr) {
      bias::credit_passive_reads(lock, *me, true);
      credited = true;
    }
    if (how.try_only) {
      if (awaits_decision(lock, me, state, spin)) continue;
      return outcome::busy;
    }
    watch.start();
    if (expired) {
      if (!is_mutant(mutant::counted_for_ever)) stop_being_counted();
      return outcome::timed_out;
    }
    // Who is counted gets a turn: under phase-fair when the writer leaves, to one that starves
    // at once, unless a writer is inside.
    if (!counted && (starving || how.prefers == preference::phase_fair) &&
        can_be_counted(state, waits_as::reader)) {
      std::uint64_t next = with_waiter(state, waits_as::reader);
      if (starving) next |= rwlock::readers_turn;
      counted = start_waiting(lock, me, waits_as::reader, state, next);
      continue;
    }
    if (spin.turn(grant != rwlock::granted)) {
      // A writer waits that could be inside: it may lack the CPU.
      if ((state & rwlock::writing) == 0 && spin.has_been_long()) platform::yield();
      continue;
    }

    const std::uint64_t parked = state | rwlock::readers_parked;
    if (parked != state && !lock.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      continue;
    }
    go_offline();
    const auto expected = static_cast<std::uint32_t>(parked);
    if (how.prefers == preference::writer && !starving) {
      if (parking::sleep_as_reader(sleep_word(lock), expected, limit.until(how.until)) ==
          platform::wake_reason::timed_out) {
        expired = limit.is_callers();
        starving = !expired && limit.passed_over(lock);
      }
    } else {
      expired = parking::sleep_as_reader(sleep_word(lock), expected, how.until) ==
                platform::wake_reason::timed_out;
    }
    spin.restart();
  }
}

namespace {

// Takes one hold of `lock` off the caller's record, the latest. Where it was passive it is released
// with that.
enum class found { nothing, active, passive };

found take_off_record(thread_record& me, const rwlock& lock) noexcept {
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = held_slots; i-- > 0;) {
    auto& slot = me.held[(home + i) % held_slots];
    const std::uintptr_t held = slot.load(platform::relaxed);
    if ((held & ~held_active) != address(lock)) continue;
    if (i != 0) change_elsewhere(me, -1);
    if (held == held_passively(lock)) {
      release_passive_hold(lock, me, domain_of(me), slot);
      return found::passive;
    }
    // (A4) As (A1) in rwlock.hpp.
    slot.store(i == 0 ? held_before(lock) : 0, at(letter::A4, platform::release));
    return found::active;
  }
  if (me.untracked == 0) return found::nothing;
  --me.untracked;
  return found::active;
}

// The hold of another thread is released on its behalf: one note of such a hold has to go, whose is
// all the same. One that is not in its home slot, or that its owner is using at this moment, stays;
// it costs that thread a slot.
void take_off_any_record(domain& d, const rwlock& lock) noexcept {
  const std::size_t home = home_slot(&lock);
  bool taken = false;
  for_each_record(d, [&](thread_record& record, bool) {
    std::uintptr_t note = held_actively(lock);
    if (!taken && record.held[home].load(platform::relaxed) == note) {
      taken = record.held[home].compare_exchange_strong(note, 0, platform::relaxed);
    }
  });
}

}  // namespace

bool release_counted_hold(rwlock& lock) noexcept {
  domain& d = domains[lock.domain];
  const platform::futex_word word = sleep_word(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    const std::int64_t readers = rwlock::readers(state);
    bool debt = false;
    if (readers <= 0) {
      // The hold is another thread's passive one, which that thread will not release.
      if ((state & (rwlock::biased | rwlock::draining | rwlock::writing)) == 0) return false;
      debt = true;
      lock.traits.fetch_or(rwlock::never_biased, platform::relaxed);
    }
    std::uint64_t next = state - rwlock::one_reader;
    const bool last = readers == 1 && (state & rwlock::writers_parked) != 0;
    if (last) next &= ~rwlock::writers_parked;
    const bool last_other = readers <= 2 && (state & rwlock::upgrader_parked) != 0;
    if (last_other) next &= ~rwlock::upgrader_parked;
    // (P) Release pairs with the acquire of the writer that finds the count at zero: (K), (K2),
    // (J3), (J4), (U1).
    if (!lock.state.compare_exchange_weak(state, next, at(letter::P, platform::release),
                                          platform::relaxed)) {
      continue;
    }
    if (last && !is_mutant(mutant::lost_wakeup)) platform::futex_wake(word, 1, parking::writers);
    if (last_other && !is_mutant(mutant::lost_upgrader_wakeup)) {
      platform::futex_wake(word, 1, parking::upgrader);
    }
    if (debt) wake_drain_sleepers(d);
    return true;
  }
}

bool unlock_shared_slow(rwlock& lock) noexcept {
  thread_record& me = my_record(lock.domain);
  const found hold = &me != &unregistered ? take_off_record(me, lock) : found::nothing;
  if (hold == found::passive) return true;
  if (hold == found::nothing && rwlock::readers(lock.state.load(platform::relaxed)) > 0 &&
      !is_mutant(mutant::stale_notes)) {
    take_off_any_record(domains[lock.domain], lock);
  }
  return release_counted_hold(lock);
}

// --- Writers -----------------------------------------------------------------------------------

namespace {

// The caller holds the lock alone.
void count_write(thread_record* me, const rwlock& lock) noexcept {
  if (me == nullptr) return;
  count_own(me->writes);
  if (lock_statistics_on()) note_write(*me, address(lock));
}

void enter(rwlock& lock, std::uint8_t grant) noexcept {
  lock.grant.store(grant, platform::relaxed);
}

// While it lives, the calling thread's handlers know that they cannot wait for the decision, and a
// fork's child that it will not be taken.
class decision {
 public:
  decision(thread_record* me, const rwlock& lock) noexcept : me_(me) {
    if (me_ != nullptr) me_->deciding.store(address(lock), platform::relaxed);
    platform::signal_fence();
  }
  ~decision() {
    platform::signal_fence();
    if (me_ != nullptr) me_->deciding.store(0, platform::relaxed);
  }
  decision(const decision&) = delete;
  decision& operator=(const decision&) = delete;

 private:
  thread_record* me_;
};

// A thread on its way to hold a lock alone: a writer, or a reader that upgrades.
class candidate {
 public:
  // What of the lock it holds itself, as a reader that upgrades.
  enum class own_hold { none, passive, active };

  candidate(rwlock& lock, thread_record* me, rules how, own_hold own) noexcept
      : lock_(lock),
        me_(me),
        how_(how),
        own_(own),
        as_(own == own_hold::none         ? waits_as::writer
            : counts_writers(how.prefers) ? waits_as::counted_upgrader
                                          : waits_as::upgrader),
        spin_(me, &lock),
        watch_(lock, true) {}

  outcome acquire() noexcept {
    for (;;) {
      // (V4) As (V3).
      std::uint64_t state = lock_.state.load(at(letter::V4, platform::acquire));
      if (upgrades() && !waiting_ && (state & rwlock::upgrading) != 0 &&
          !is_mutant(mutant::upgraders_both_wait)) {
        return outcome::busy;
      }
      if (!is_closed(state) && (state & (rwlock::biased | rwlock::draining)) != 0) {
        switch (claim(state)) {
          case claim_result::entered:
            return outcome::acquired;
          case claim_result::lost_race:
            continue;
          case claim_result::backed_out:
            if (how_.try_only) return outcome::busy;
            if (expired_) break;
            watch_.start();
            expired_ = !wait_until_drained();
            continue;
        }
      } else if (!is_closed(state) && (nobody_else_inside(0, rwlock::readers(state)) ||
                                       (is_mutant(mutant::handoff_over_readers) && has_slept_))) {
        const std::uint64_t next =
            as_writing(state) - (own_ == own_hold::active ? rwlock::one_reader : 0);
        // (J4) Pairs with (M) and (P).
        if (stop_waiting(lock_, me_, waiting_, as_, state, next,
                         at(letter::J4, platform::acquire))) {
          if (!waiting_ && me_ != nullptr) bias::debit_write(lock_, *me_);
          take_off_own_hold();
          enter(lock_, rwlock::granted);
          count_write(me_, lock_);
          return outcome::acquired;
        }
        continue;
      }

      if (how_.try_only) {
        if (awaits_decision(lock_, me_, state, spin_)) continue;
        return outcome::busy;
      }
      if (expired_) {
        give_up();
        return outcome::timed_out;
      }
      watch_.start();
      if (is_to_be_counted(state)) {
        waiting_ = start_waiting(lock_, me_, as_, state, with_waiter(state, as_));
        continue;
      }
      if (!spin_.turn(lock_.grant.load(platform::relaxed) != rwlock::granted)) sleep(state);
    }
  }

 private:
  enum class claim_result { entered, lost_race, backed_out };

  // How many read holds of the lock there are in slots and in its count.
  struct read_holds {
    std::int64_t passive;
    std::int64_t active;
  };

  bool upgrades() const noexcept { return own_ != own_hold::none; }

  // A reader that upgrades is inside already: no turn of other readers keeps it out.
  bool is_closed(std::uint64_t state) const noexcept {
    return (state & rwlock::writing) != 0 ||
           (!how_.try_only && !upgrades() && (state & rwlock::readers_turn) != 0 &&
            !is_mutant(mutant::turn_ignored));
  }

  // Whether all other readers that may be inside are gone. Passive holds and debts cancel each
  // other.
  bool nobody_else_inside(std::int64_t passive, std::int64_t readers) const noexcept {
    const std::int64_t inside = READMOST_VARIANT(forget_passive_readers, passive, 0) +
                                READMOST_VARIANT(forget_active_readers, readers, 0);
    return inside <= (upgrades() ? READMOST_VARIANT(upgrade_over_readers, 1, INT32_MAX) : 0);
  }

  bool is_to_be_counted(std::uint64_t state) noexcept {
    if (waiting_) return false;
    if (upgrades()) {
      // While a claim is undecided another one may turn out to be upgrading.
      return (state & rwlock::writing) == 0 && choose_count(state);
    }
    return counts_writers(how_.prefers) && choose_count(state);
  }

  // As what to be counted in `state`; false when there is no room. An upgrader needs none.
  bool choose_count(std::uint64_t state) noexcept {
    if (upgrades() && !can_be_counted(state, as_)) as_ = waits_as::upgrader;
    return can_be_counted(state, as_);
  }

  // What a writer that goes in leaves behind: it is waiting no more, and if it was woken it was in
  // the name of all that sleep.
  std::uint64_t as_writing(std::uint64_t state) const noexcept {
    if (waiting_) state = rwlock::without_waiter(state, as_);
    if (has_slept_ && !upgrades()) state |= rwlock::writers_parked;
    return state | rwlock::writing;
  }

  void take_off_own_hold() noexcept {
    if (upgrades() && me_ != nullptr) take_off_record(*me_, lock_);
  }

  // The claim of a lock that is or was biased: closes it, reaches consensus, looks who is inside.
  claim_result claim(std::uint64_t state) noexcept {
    domain& d = domains[is_mutant(mutant::wrong_domain) ? 0 : lock_.domain];
    const bool revoking = (state & rwlock::biased) != 0;
    const std::uint64_t next = as_writing(state) & ~(rwlock::biased | rwlock::draining);
    const decision pending(me_, lock_);
    // Comes from another core while the compare-and-swap waits for its line.
    if (revoking) platform::prefetch_for_write(&d.version);
    // (K) The bias is gone before the look at versions, modes and slots. Pairs with (A) by way of
    // (B), and with (F) by way of (K1). Acquire: pairs with (M), (M2) and (P).
    if (!stop_waiting(lock_, me_, waiting_, as_, state, next, at(letter::K, platform::acquire))) {
      return claim_result::lost_race;
    }
    waiting_ = false;
    const std::uint64_t round = revoking ? revoke(d) : 0;
    const read_holds inside = READMOST_VARIANT(counts_before_slots, find_read_holds(d, round),
                                               find_active_holds_first(d, round));
    if (nobody_else_inside(inside.passive, inside.active)) {
      take_off_own_hold();
      settle(d, inside.passive - (own_ == own_hold::passive ? 1 : 0), inside.active);
      enter(lock_, revoking ? rwlock::granted_by_revocation : rwlock::granted);
      count_write(me_, lock_);
      return claim_result::entered;
    }
    back_out(revoking, inside.passive);
    return claim_result::backed_out;
  }

  // After a claim.
  read_holds find_read_holds(domain& d, std::uint64_t round) const noexcept {
    const std::int64_t passive = passive_holds(d, &lock_, me_, round);
    // (K2) After the slots: a hold on its way from a slot to the count is in one of them.
    return {passive, rwlock::readers(lock_.state.load(at(letter::K2, platform::acquire)))};
  }

  // Nobody else is inside: takes debts and the holds they are for out of the count and the slots.
  // A hold that was in a slot when it was seen may be in the count by now: its thread has exited.
  void settle(domain& d, std::int64_t passive, std::int64_t readers) noexcept {
    if (passive != 0) {
      const std::int64_t erased = erase_passive_holds(d, &lock_);
      if (!is_mutant(mutant::settles_what_was_seen)) readers += passive - erased;
    }
    if (readers != 0) {
      lock_.state.fetch_sub(static_cast<std::uint64_t>(readers) << rwlock::readers_shift,
                            platform::relaxed);
    }
  }

  // Reaches consensus on the bias being gone, and keeps the account.
  std::uint64_t revoke(domain& d) noexcept {
    const round done = reach_consensus(d, me_);
    bias::debit_revocation(lock_, done.nanoseconds);
    if (done.version != 0) bias::remember_cost(d, done.nanoseconds);
    if (lock_statistics_on()) note_revocation(address(lock_), done.nanoseconds, done.kind);
    READMOST_PROBE(revocation, &lock_, done.nanoseconds, static_cast<int>(done.kind));
    if (me_ != nullptr) {
      count_own(me_->revocations);
      bias::credit_passive_reads(lock_, *me_, done.version != 0);
    }
    return done.version;
  }

  // Somebody is inside: opens the door again, for recursive readers at least.
  void back_out(bool revoking, std::int64_t passive) noexcept {
    const bool waits = !how_.try_only && (upgrades() || counts_writers(how_.prefers));
    const auto undo = [&](std::uint64_t now) {
      now &= ~rwlock::writing;
      if (how_.try_only && revoking && (now & (rwlock::waiting_writers | rwlock::upgrading)) == 0) {
        return now | rwlock::biased;
      }
      if (passive != 0) now |= rwlock::draining;
      waiting_ = waits && choose_count(now);
      return waiting_ ? with_waiter(now, as_) : now;
    };
    // (M2) The claim of a lock that is draining pairs with it by (K), and does without a consensus.
    open_door(lock_, how_.prefers, at(letter::M2, platform::release), undo,
              !is_mutant(mutant::silent_back_out));
    if (waiting_) note_waiting(me_, lock_, as_);
    if (own_ == own_hold::passive && !how_.try_only) count_own_hold();
  }

  // Makes the caller's passive hold an active one, so that the lock can be drained of passive ones.
  void count_own_hold() noexcept {
    READMOST_VARIANT(clears_before_count, count_and_mark(), mark_and_count());
    // Another writer may sleep over the passive hold.
    if (!is_mutant(mutant::silent_conversion)) report_after_unlock(*me_);
    own_ = own_hold::active;
  }

  void count_and_mark() noexcept {
    // First counted, then cleared (U3): a writer that scans (L) and then counts (K2) sees it
    // in one place at least.
    lock_.state.fetch_add(rwlock::one_reader, platform::relaxed);
    mark_own_hold();
  }

  void mark_own_hold() noexcept {
    for (auto& slot : me_->held) {
      if (slot.load(platform::relaxed) == held_passively(lock_)) {
        slot.store(held_actively(lock_), at(letter::U3, platform::release));
      }
    }
  }

#if defined(READMOST_FAULTS)
#include <mutants/writers.hpp>
#endif

  bool is_drained() const noexcept {
    const std::uint64_t state = lock_.state.load(platform::relaxed);
    if ((state & rwlock::draining) == 0) return true;
    const std::int64_t passive = passive_holds(domains[lock_.domain], &lock_, me_, 0);
    return passive == 0 || nobody_else_inside(passive, rwlock::readers(state));
  }

  // Waits until the passive readers that a claim has met are gone; false at the deadline.
  bool wait_until_drained() const noexcept {
    const std::uint64_t start = lock_statistics_on() ? platform::now() : 0;
    const bool drained = spin_until_drained() || sleep_until_drained();
    if (start != 0) note_drain(address(lock_), platform::now() - start);
    return drained;
  }

  bool spin_until_drained() const noexcept {
    for (spinner spin(me_, &lock_); spin.turn(true);) {
      if (is_drained()) return true;
      // A reader that stays may have lost its CPU to this thread.
      if (spin.has_been_long()) platform::yield();
    }
    return false;
  }

  bool sleep_until_drained() const noexcept {
    const drain_sleep sleep(domains[lock_.domain]);
    for (;;) {
      const std::uint32_t epoch = sleep.epoch();
      if (is_drained()) return true;
      if (sleep.wait(READMOST_VARIANT(epoch_read_late, epoch, sleep.epoch()), how_.until) ==
          platform::wake_reason::timed_out) {
        return is_drained();
      }
    }
  }

  // Sleeps until somebody opens the door, if the state is still as it was.
  void sleep(std::uint64_t state) noexcept {
    const std::uint64_t parked =
        state | (upgrades() ? rwlock::upgrader_parked : rwlock::writers_parked);
    if (parked != state && !lock_.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      return;
    }
    go_offline();
    has_slept_ = true;
    expired_ = platform::futex_wait(sleep_word(lock_), static_cast<std::uint32_t>(parked),
                                    upgrades() ? parking::upgrader : parking::writers,
                                    how_.until) == platform::wake_reason::timed_out;
    spin_.restart();
  }

  // Readers may have waited behind the caller, and it may have been woken in the place of another
  // writer.
  void give_up() noexcept {
    if (is_mutant(mutant::silent_waiters)) return;
    if (waiting_) {
      note_waited(me_);
      open_door(lock_, how_.prefers, platform::relaxed,
                [this](std::uint64_t state) { return rwlock::without_waiter(state, as_); });
    }
    if (has_slept_ && !upgrades()) platform::futex_wake(sleep_word(lock_), 1, parking::writers);
  }

  rwlock& lock_;
  thread_record* me_;
  rules how_;
  own_hold own_;
  waits_as as_;
  bool waiting_ = false;  // counted in the state
  bool has_slept_ = false;
  bool expired_ = false;
  spinner spin_;
  wait_watch watch_;
};

// What a writer leaves behind that no longer excludes readers; `readers` of them are its own.
void stop_writing(rwlock& lock, rules how, std::uint64_t readers) noexcept {
  const std::uint8_t grant = lock.grant.load(platform::relaxed);
  const bool bias = (bias::is_earned(lock) ||
                     (grant == rwlock::granted_by_revocation && bias::is_worth_keeping(lock))) &&
                    bias::is_allowed(lock, how);
  lock.turn.store(static_cast<std::uint16_t>(lock.turn.load(platform::relaxed) + 1),
                  platform::relaxed);
  thread_record& record = my_record(lock.domain);
  note_write_end(record, address(lock));
  // (M1) Nobody waits and nothing is to be given: as (M) below.
  std::uint64_t alone = rwlock::writing;
  if (!bias && lock.state.compare_exchange_strong(alone, readers, at(letter::M1, platform::release),
                                                  platform::relaxed)) {
    return;
  }
  const decision pending(bias && &record != &unregistered ? &record : nullptr, lock);
  if (bias) lock.grant.store(rwlock::not_granted, platform::relaxed);
  // (M) Release pairs with (C) and with every acquiring compare-and-swap: who enters next sees what
  // the writer did. The last access to the lock's memory, unless the caller remains as a reader.
  // While writers wait the lock stays without bias: they take over without a new consensus
  // (FCP 4.1, PASS).
  open_door(lock, how.prefers, at(letter::M, platform::release), [&](std::uint64_t now) {
    now = (now & ~rwlock::writing) + readers;
    if (how.prefers == preference::phase_fair && (now & rwlock::waiting_readers) != 0) {
      now |= rwlock::readers_turn;
    }
    return bias && (now & rwlock::waiting_writers) == 0 ? now | rwlock::biased : now;
  });
}

}  // namespace

outcome lock_exclusive(rwlock& lock, rules how) noexcept {
  std::uint64_t free = 0;
  thread_record& me = my_record(lock.domain);
  if ((lock.traits.load(platform::relaxed) & rwlock::met) == 0 || &me == &unregistered ||
      // (J3) Pairs with (M) and (P).
      !lock.state.compare_exchange_strong(free, rwlock::writing, at(letter::J3, platform::acquire),
                                          platform::relaxed)) {
    thread_record* enlisted = enlist(lock.domain);
    meet(lock);
    return candidate(lock, enlisted, how, candidate::own_hold::none).acquire();
  }
  enter(lock, rwlock::granted);
  bias::debit_write(lock, me);
  count_write(&me, lock);
  return outcome::acquired;
}

void unlock_exclusive(rwlock& lock, rules how) noexcept {
  stop_writing(lock, how, 0);
}

namespace {

// Upgrades an active hold that is the only one: one compare-and-swap.
bool upgrade_at_once(rwlock& lock, thread_record& me) noexcept {
  auto& slot = me.held[home_slot(&lock)];
  // The caller's other holds of the lock, if any, are elsewhere.
  if (slot.load(platform::relaxed) != held_actively(lock) ||
      me.elsewhere.load(platform::relaxed) != 0 || me.untracked != 0) {
    return false;
  }
  std::uint64_t alone = rwlock::one_reader;
  // (U1) Pairs with (P).
  if (!lock.state.compare_exchange_strong(alone, rwlock::writing, at(letter::U1, platform::acquire),
                                          platform::relaxed)) {
    return false;
  }
  // (A5) As (A1) in rwlock.hpp.
  slot.store(held_before(lock), at(letter::A5, platform::release));
  enter(lock, rwlock::granted);
  bias::debit_write(lock, me);
  count_write(&me, lock);
  return true;
}

}  // namespace

outcome upgrade(rwlock& lock, rules how) noexcept {
  thread_record& record = my_record(lock.domain);
  thread_record* const me = &record == &unregistered ? nullptr : &record;
  auto own = candidate::own_hold::active;  // what is not on record is counted
  if (me != nullptr) {
    if (upgrade_at_once(lock, *me)) return outcome::acquired;
    int holds = 0;
    for (const auto& slot : me->held) {
      const std::uintptr_t held = slot.load(platform::relaxed);
      if ((held & ~held_active) != address(lock)) continue;
      if (is_passive_hold(held)) own = candidate::own_hold::passive;
      ++holds;
    }
    if (holds > 1) return outcome::busy;
  }
  return READMOST_VARIANT(upgrade_lets_go, candidate(lock, me, how, own).acquire(),
                          (unlock_shared_slow(lock), lock_exclusive(lock, how)));
}

void downgrade(rwlock& lock, rules how) noexcept {
  thread_record& me = my_record(lock.domain);
  if (&me != &unregistered) note_active_hold(me, lock);
  stop_writing(lock, how, is_mutant(mutant::downgrade_uncounted) ? 0 : rwlock::one_reader);
}

void settle_before_reuse(rwlock& lock) noexcept {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  if ((state & (rwlock::biased | rwlock::draining)) != 0) {
    erase_passive_holds(domains[lock.domain], &lock);
  }
}

}  // namespace readmost::detail
