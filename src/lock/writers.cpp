// SPDX-License-Identifier: Apache-2.0
// The slow paths of writers: claims, revocation, backing out, waiting; upgrade and downgrade.
#include "lock/bias.hpp"
#include "lock/decision.hpp"
#include "lock/holds.hpp"
#include "lock/lone_writer.hpp"
#include "lock/observation.hpp"
#include "lock/parking.hpp"
#include "lock/sleep_note.hpp"
#include "lock/wait_queue.hpp"
#include "lock/waiting.hpp"
#include "lock/waking.hpp"
#include "platform/known_cpus.hpp"
#include "platform/probes.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// The caller holds the lock alone.
void count_write(thread_record* me, const rwlock& lock) noexcept {
  if (me == nullptr) return;
  count_own(me->writes);
  if (lock_statistics_on()) note_write(address(lock));
}

std::uint32_t writers_counted(std::uint64_t state) noexcept {
  return static_cast<std::uint32_t>((state & rwlock::waiting_writers) / rwlock::one_writer);
}

// A thread on its way to hold a lock alone: a writer, or a reader that upgrades.
class candidate {
 public:
  // The read hold that it upgrades, if any.
  enum class own_hold { none, passive, active };

  candidate(rwlock& lock, thread_record* me, rules how, own_hold own) noexcept
      : lock_(lock),
        me_(me),
        how_(how),
        own_(own),
        as_(own == own_hold::none         ? waits_as::writer
            : counts_writers(how.prefers) ? waits_as::counted_upgrader
                                          : waits_as::upgrader),
        // A writer that keeps readers out, or is one, is to be there when the last one leaves.
        spin_(me, lock,
              {.may_stay_away = !counts_writers(how.prefers) && own == own_hold::none,
               .until = how.until}),
        watch_(lock, true) {}

  outcome acquire() noexcept {
    for (;;) {
      // (K) As in claim(). If another thread has moved the hold that this one upgrades, that is
      // seen below.
      std::uint64_t state = lock_.state.load(at(letter::K, platform::acquire));
      look_for_moved_hold();
      if (is_own_hold_released(state) && (state & (rwlock::any_bias | rwlock::draining)) != 0 &&
          move_holds_to_count(lock_)) {
        continue;
      }
      if (upgrades() && !waiting_ && (state & rwlock::upgrading) != 0 &&
          !is_mutant(mutant::upgraders_both_wait)) {
        return outcome::busy;
      }
      if (!is_closed(state) && (state & (rwlock::any_bias | rwlock::draining)) != 0) {
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
        // (J4) Pairs with (M) and (P).
        if (enter(state, as_writing(state), at(letter::J4, platform::acquire))) {
          take_off_own_hold();
          count_write(me_, lock_);
          return outcome::acquired;
        }
        continue;
      }

      if (how_.try_only) {
        if (!looked_twice_ && awaits_decision(lock_, me_, state)) {
          looked_twice_ = true;
          continue;
        }
        return outcome::busy;
      }
      if (expired_) {
        give_up();
        return outcome::timed_out;
      }
      watch_.start();
      take_over_bias(state);
      const bool brief = (state & rwlock::claiming) != 0;
      if (!brief && stays_away(state)) continue;
      if (is_to_be_counted(state)) {
        waiting_ = start_waiting(lock_, me_, as_, state, with_waiter(state, as_));
        continue;
      }
      if (!is_worth_spinning(state) || !spin_.spin(brief, writers_counted(state))) {
        sleep(state);
      } else if (readers_may_lack_cpu(state)) {
        yield_to_readers();
      }
    }
  }

 private:
  enum class claim_result { entered, lost_race, backed_out };

  bool upgrades() const noexcept { return own_ != own_hold::none; }

  // Whether another thread has released, by way of the count, the hold that this one upgrades. Then
  // a hold in a slot is left in its place.
  bool is_own_hold_released(std::uint64_t state) const noexcept {
    return own_ == own_hold::active && rwlock::readers(state) == 0;
  }

  // Another thread may move the hold to the count, except during a claim.
  void look_for_moved_hold() noexcept {
    if (own_ != own_hold::passive || passive_holds_of(*me_, lock_) != 0) return;
    own_ = own_hold::active;
    if (notes_holds(lock_.state.load(platform::relaxed))) note_hold(*me_, lock_);
  }

  // A reader that upgrades is inside already, so nobody is ahead of it.
  bool is_closed(std::uint64_t state) const noexcept {
    if ((state & (rwlock::writing | rwlock::claiming)) != 0) return true;
    if (how_.try_only || upgrades()) return false;
    return ((state & rwlock::reader_phase) != 0 && !is_mutant(mutant::phase_ignored)) ||
           ((state & rwlock::handoff) != 0 && !has_slept_ && !is_mutant(mutant::handoff_ignored));
  }

  // Whether no other reader is in slots or in the count.
  bool nobody_else_inside(std::int64_t passive, std::uint64_t counted) const noexcept {
    if (upgrades() && is_mutant(mutant::upgrade_over_readers)) return true;
    const std::uint64_t readers = READMOST_VARIANT(forget_active_readers, counted, 0);
    const std::int64_t holds = READMOST_VARIANT(forget_passive_readers, passive, 0);
    return holds <= (own_ == own_hold::passive ? 1 : 0) &&
           readers <= (own_ == own_hold::active ? 1U : 0U);
  }

  bool is_to_be_counted(std::uint64_t state) noexcept {
    if (waiting_) return false;
    if (upgrades()) {
      // While a claim is undecided another one may turn out to be upgrading.
      return (state & (rwlock::writing | rwlock::claiming)) == 0 && choose_count(state);
    }
    return counts_writers(how_.prefers) && choose_count(state);
  }

  // Chooses the kind of waiter as which `state` counts the caller; false if its field is full. An
  // upgrader needs no room.
  bool choose_count(std::uint64_t state) noexcept {
    if (upgrades() && !can_be_counted(state, as_)) as_ = waits_as::upgrader;
    return can_be_counted(state, as_);
  }

  // The state as this writer enters: it no longer waits, nor does its own read hold count. If it
  // was woken, it takes on the wake-up of all sleeping writers.
  std::uint64_t as_writing(std::uint64_t state) const noexcept {
    if (waiting_) state = rwlock::without_waiter(state, as_);
    if (own_ == own_hold::active && !is_own_hold_released(state)) state -= rwlock::one_reader;
    if (has_slept_ && !upgrades()) {
      state = (state | rwlock::writers_parked) & ~rwlock::handoff;
    }
    if (revoked_) state |= rwlock::revoked;
    return (state & ~rwlock::claiming) | rwlock::writing;
  }

  void take_off_own_hold() noexcept {
    if (me_ == nullptr) return;
    if (own_ == own_hold::passive) release_own_passive_hold(lock_, *me_);
    if (own_ == own_hold::active && notes_holds(lock_.state.load(platform::relaxed))) {
      take_off_note(*me_, lock_);
    }
  }

  // Claims a lock that is biased or draining: closes it, reaches consensus, checks for readers
  // inside, decides.
  claim_result claim(std::uint64_t state) noexcept {
    domain& d = domains[is_mutant(mutant::wrong_domain) ? 0 : lock_.domain];
    const bool revoking = (state & rwlock::any_bias) != 0;
    const std::uint64_t next = (state & ~(rwlock::any_bias | rwlock::draining)) | rwlock::claiming;
    const decision pending(me_, lock_);
    // This line comes from another core while the compare-and-swap waits for the lock's.
    if (revoking) platform::prefetch_for_write(&d.version);
    // (K) The bias is cleared before versions, modes and slots are read. Pairs with (A) by way of
    // (B), and with (F) by way of (K1). Acquire: pairs with (M) and (M2).
    if (!lock_.state.compare_exchange_strong(state, next, at(letter::K, platform::acquire),
                                             platform::relaxed)) {
      return claim_result::lost_race;
    }
    const bool used_alone = revoking && me_ != nullptr && bias::is_used_alone(lock_, *me_);
    const bool by_consensus = (state & rwlock::bias_by_consensus) != 0;
    const round done = by_consensus ? reach_consensus(d, me_)
                       : revoking   ? round_without_reports(d, me_)
                                    : round{};
    if (revoking) revoked_ = true;
    std::int64_t passive = 0;
    const bool entered = READMOST_VARIANT(counts_before_slots, decide(d, done.version, passive),
                                          decide_by_old_count(d, done.version, passive));
    // Not before the decision: readers that find the lock closed have taken its line, which the
    // decision needs, too.
    if (revoking) account_for(done, used_alone);
    if (!entered) {
      back_out(revoking, passive);
      return claim_result::backed_out;
    }
    take_off_own_hold();
    count_write(me_, lock_);
    return claim_result::entered;
  }

  // Enters unless a reader is inside; `passive`: how many passive holds there are.
  bool decide(domain& d, std::uint64_t round, std::int64_t& passive) noexcept {
    passive = passive_holds(d, &lock_, me_, round);
    // (K2) After the slots: a hold on its way from a slot to the count is in one of them.
    std::uint64_t state = lock_.state.load(at(letter::K2, platform::acquire));
    while (nobody_else_inside(passive, rwlock::readers(state))) {
      if (enter(state, as_writing(state), at(letter::K2, platform::acquire))) return true;
    }
    return false;
  }

  // Replaces `state` by `next`, in which this writer is inside; false if the state has changed,
  // which is then in `state`.
  bool enter(std::uint64_t& state, std::uint64_t next, std::memory_order order) noexcept {
    const bool on_record = waiting_ || asks_;
    if (on_record) note_waited(me_);
    if (lock_.state.compare_exchange_strong(state, next, order, order)) return true;
    if (on_record) note_waiting(me_, lock_, as_on_record());
    return false;
  }

  waits_as as_on_record() const noexcept { return waiting_ ? as_ : waits_as::next_writer; }

  void account_for(const round& done, bool used_alone) noexcept {
    bias::account_for_revocation(lock_, me_, done, done.among_others && !used_alone);
    if (me_ != nullptr) count_own(me_->revocations);
    if (lock_delays_noted()) watch_.note_revocation(done.nanoseconds, done.kind);
    READMOST_PROBE(revocation, &lock_, done.nanoseconds, static_cast<int>(done.kind));
  }

  // Another thread is inside: opens the door again, at least for recursive readers.
  void back_out(bool revoking, std::int64_t passive) noexcept {
    if (own_ == own_hold::passive && !how_.try_only) {
      count_own_hold();
      --passive;
    }
    // One that only tries gives the bias back if the account says so: its attempts cost
    // revocations.
    const bool gives_back = how_.try_only && revoking && bias::is_worth_keeping(lock_);
    const std::uint64_t bias = gives_back ? bias::bit_to_give(lock_) : 0;
    const bool waits = !how_.try_only && (upgrades() || counts_writers(how_.prefers));
    bool counted = false;
    const auto undo = [&](std::uint64_t now) {
      now &= ~rwlock::claiming;
      constexpr std::uint64_t wanted =
          rwlock::waiting_writers | rwlock::upgrading | rwlock::handoff;
      if (gives_back && (now & wanted) == 0) return now | bias;
      if (passive != 0) now |= rwlock::draining;
      counted = waits && !waiting_ && choose_count(now);
      return counted ? with_waiter(now, as_) : now;
    };
    // (M2) Pairs with (K) of the next claim, which finds the lock draining and needs no consensus.
    open_door(lock_, how_.prefers, at(letter::M2, platform::release), undo);
    if (!counted) return;
    waiting_ = true;
    note_waiting(me_, lock_, as_);
  }

  // Makes the caller's passive hold an active one, so that the lock can be drained of passive ones.
  void count_own_hold() noexcept {
    if (notes_holds(lock_.state.load(platform::relaxed))) note_hold(*me_, lock_);
    lock_.state.fetch_add(rwlock::one_reader, platform::relaxed);
    READMOST_VARIANT(silent_conversion, release_own_hold(), clear_own_slot());
    own_ = own_hold::active;
  }

#if defined(READMOST_FAULTS)
#include <mutants/writers.hpp>
#endif

  void release_own_hold() noexcept { release_own_passive_hold(lock_, *me_); }

  // `holders`: those that were inside at the last look. True also if others have drained the lock.
  bool is_drained(present_walk& holders) const noexcept {
    const std::uint64_t state = lock_.state.load(platform::relaxed);
    return (state & rwlock::draining) == 0 || is_own_hold_released(state) ||
           pass_released(holders, &lock_);
  }

  // Waits until the passive readers that a claim has found are gone; false at the deadline.
  bool wait_until_drained() noexcept {
    if (!bias::have_cpus(me_)) revoked_ = false;
    const std::uint64_t start = lock_statistics_on() ? platform::now() : 0;
    present_walk holders(domains[lock_.domain], nullptr, fetched::slots_too);
    const bool drained = spin_until_drained(holders) || sleep_until_drained(holders);
    if (start != 0) note_drain(address(lock_), platform::now() - start);
    return drained;
  }

  bool spin_until_drained(present_walk& holders) const noexcept {
    unsigned naps_left = 2;
    for (spinner spin(me_, lock_); spin.spin(true);) {
      if (is_drained(holders)) return true;
      // A reader that stays inside may have lost its CPU to this thread.
      if (spin.has_been_long() && !leave_cpu(naps_left)) return false;
    }
    return false;
  }

  // Lets others run; false if this thread is to sleep now. Where waiting writers keep readers out,
  // the reader yields in turn once it has left. One that is preferred would read on for all of a
  // time slice, and be inside again at its end. So it gets the CPU only until a timer wakes this
  // thread, which costs both less than a sleep until the reader leaves.
  bool leave_cpu(unsigned& naps_left) const noexcept {
    constexpr std::uint64_t nap = 5'000;
    if (counts_writers(how_.prefers) || is_mutant(mutant::yields_to_preferred_readers)) {
      platform::yield();
    } else if (me_ != nullptr && how_.until == nullptr && is_crowded(*me_)) {
      if (naps_left == 0) return false;
      --naps_left;
      platform::sleep_for(nap);
    }
    return true;
  }

  bool sleep_until_drained(present_walk& holders) noexcept {
    note_sleep();
    watch_.before_sleep();
    const drain_sleep sleep(domains[lock_.domain], &lock_);
    for (;;) {
      const std::uint32_t epoch = sleep.epoch();
      if (is_drained(holders)) return true;
      if (sleep.wait(READMOST_VARIANT(epoch_read_late, epoch, sleep.epoch()), how_.until) ==
          platform::wake_reason::timed_out) {
        return is_drained(holders);
      }
    }
  }

  void note_sleep() noexcept {
    sleep_.take(me_, lock_, upgrades() ? sleeps_as::upgrader : sleeps_as::writer, how_);
  }

  // A writer that leaves gives no bias while this one waits. This one may do so in its place, once
  // nobody waits any more.
  void take_over_bias(std::uint64_t state) noexcept {
    if ((state & rwlock::revoked) != 0 && counts_writers(how_.prefers) && bias::have_cpus(me_) &&
        !is_mutant(mutant::bias_left_behind)) {
      revoked_ = true;
    }
  }

  // After a sleep that did not help it is no use to spin, but for the end of a readers' phase: it
  // lasts as long as those that are counted take to come in. And where many threads have CPUs, each
  // sleep of a writer that is next keeps the others waiting for as long as it takes to wake it, and
  // they sleep meanwhile, too. Under other preferences such spins cost reads. Chosen by simulation:
  // docs/scaling.md.
  bool is_worth_spinning(std::uint64_t state) const noexcept {
    constexpr unsigned many = 8;
    if (!has_slept_) return true;
    if (!bias::have_cpus(me_)) return false;
    return (state & rwlock::reader_phase) != 0 ||
           (known_cpus() >= many && how_.prefers == preference::writer);
  }

  // Whether readers inside may have lost their CPU to this thread, or wait for one that has.
  bool readers_may_lack_cpu(std::uint64_t state) const noexcept {
    return (state & rwlock::writing) == 0 && rwlock::readers(state) != 0 && how_.until == nullptr &&
           spin_.has_been_long() && may_lack_cpus(me_);
  }

  // A thread that reads all the time, and is preferred, keeps the CPU for all of a time slice and
  // is inside again at its end. Then this one sleeps, which asks for a hand-off, and yields no more
  // for so long that it loses little by another such try.
  void yield_to_readers() noexcept {
    constexpr std::uint64_t long_for_a_section = 1'000'000;
    constexpr std::uint64_t rarely = 16;
    const std::uint64_t before = platform::now();
    if (before < me_->yields_from && !is_mutant(mutant::yields_again_at_once)) return;
    platform::yield();
    spin_.look_often();
    const std::uint64_t after = platform::now();
    if (after - before < long_for_a_section) return;
    me_->yields_from = after + rarely * (after - before);
    spin_.give_up();
  }

  bool stays_away(std::uint64_t state) noexcept {
    return spin_.has_stayed_away(state, [this] {
      watch_.before_sleep();
      prepare_sleep();
    });
  }

  void prepare_sleep() noexcept {
    settle_before_sleep(me_);
    note_sleep();
  }

  // Whether nobody is inside, and only the writer is missing that was woken for all that sleep. It
  // wakes this one when it leaves or gives up. With writers_parked set, the state might be again
  // what that writer expects to sleep on.
  static bool is_left_to_asker(std::uint64_t state) noexcept {
    constexpr std::uint64_t others = rwlock::writing | rwlock::claiming | rwlock::any_bias |
                                     rwlock::draining | rwlock::reader_phase;
    return (state & rwlock::handoff) != 0 && (state & others) == 0 && rwlock::readers(state) == 0 &&
           !is_mutant(mutant::parks_behind_asker);
  }

  // Sleeps until another thread opens the door, unless the state has changed. A writer asks to be
  // next.
  void sleep(std::uint64_t state) noexcept {
    watch_.before_sleep();
    std::uint64_t parked = state;
    if (upgrades()) {
      parked |= rwlock::upgrader_parked;
    } else if (!is_left_to_asker(state)) {
      parked |= rwlock::writers_parked;
      asks_ = true;
      // Before the state says so: in a fork's child that does no harm.
      if (!waiting_) note_waiting(me_, lock_, as_on_record());
      parked |= rwlock::handoff;
    }
    if (parked != state && !lock_.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      return;
    }
    prepare_sleep();
    has_slept_ = true;
    expired_ = platform::futex_wait(sleep_word(lock_), static_cast<std::uint32_t>(parked),
                                    upgrades() ? parking::upgrader : parking::writers,
                                    how_.until) == platform::wake_reason::timed_out;
    spin_.restart();
  }

  // Readers may have waited behind the caller, and its wake-up may have been meant for another
  // writer.
  void give_up() noexcept {
    if (is_mutant(mutant::silent_waiters)) return;
    if (waiting_ || asks_) {
      note_waited(me_);
      open_door(lock_, how_.prefers, platform::relaxed, [&](std::uint64_t state) {
        if (asks_) state &= ~rwlock::handoff;
        return waiting_ ? rwlock::without_waiter(state, as_) : state;
      });
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
  bool asks_ = false;  // to be next, by `handoff`
  // Has taken the bias away, or waited for a writer that had, and may give it back.
  bool revoked_ = false;
  bool expired_ = false;
  bool looked_twice_ = false;  // only tries, and has waited for another's decision
  spinner spin_;
  wait_watch watch_;
  sleep_note sleep_;
};

// Whether a writer that leaves passes the lock on to one that waits (FCP 4.1, PASS), which then
// needs no consensus: such a lock gets no bias, so the writer inside cost it no revocation. Under
// phase-fair preference a phase of readers comes first, and those may be passive if threads have
// CPUs.
bool is_passed_on(std::uint64_t state, preference prefers, bool have_cpus) noexcept {
  if ((state & (rwlock::waiting_writers | rwlock::handoff)) == 0) return false;
  return prefers != preference::phase_fair || (state & rwlock::waiting_readers) == 0 ||
         !have_cpus || is_mutant(mutant::phase_without_bias);
}

// Ends the exclusion of readers. `readers`: one_reader if the caller remains inside as one, or 0.
void stop_writing(rwlock& lock, rules how, std::uint64_t readers) noexcept {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  const bool revoked = (state & rwlock::revoked) != 0;
  const bool have_cpus =
      how.prefers == preference::phase_fair && bias::have_cpus(my_record_or_null(lock.domain));
  platform::add_one(lock.writer_exits);
  const bool costs_nothing = counts_writers(how.prefers) &&
                             is_passed_on(state, how.prefers, have_cpus) &&
                             !is_mutant(mutant::passed_writes_debited);
  bias::debit_writes(lock, bias::asked::others, revoked || costs_nothing);
  const bool gives = (bias::is_earned(lock) || (revoked && bias::is_worth_keeping(lock))) &&
                     bias::is_allowed(lock, how) &&
                     (lock.traits.load(platform::relaxed) & rwlock::clean) != 0;
  const std::uint64_t bias = gives ? bias::bit_to_give(lock) : 0;
  if (lock_statistics_on()) note_write_end(address(lock));
  // (M) Release pairs with (C) and with every acquiring compare-and-swap: the next thread to enter
  // sees the writer's changes. This is the last access to the lock's memory, unless the caller
  // remains as a reader.
  open_door(lock, how.prefers, at(letter::M, platform::release), [&](std::uint64_t now) {
    now = (now & ~(rwlock::writing | rwlock::revoked)) + readers;
    if ((now & rwlock::waiting_readers) != 0 &&
        (how.prefers != preference::writer || (now & rwlock::waiting_writers) == 0)) {
      now |= rwlock::reader_phase;
    }
    return is_passed_on(now, how.prefers, have_cpus) ? now : now | bias;
  });
}

// Upgrades an active hold that is the only one: one compare-and-swap.
bool upgrade_at_once(rwlock& lock, thread_record& me) noexcept {
  // The caller's other holds of the lock, if any, are noted elsewhere.
  auto& note = me.noted[0];
  if (note != address(lock) || me.unnoted != 0) return false;
  std::uint64_t alone = lock.state.load(platform::relaxed);
  // (U1) Pairs with (P).
  if ((alone & ~rwlock::unnoted) != (rwlock::ready | rwlock::one_reader) ||
      !lock.state.compare_exchange_strong(alone, alone - rwlock::one_reader + rwlock::writing,
                                          at(letter::U1, platform::acquire), platform::relaxed)) {
    return false;
  }
  note = 0;
  count_write(&me, lock);
  return true;
}

}  // namespace

void record_write(const rwlock& lock) noexcept {
  if (thread_record* const me = enlist(lock.domain)) count_own(me->writes);
}

namespace {

[[gnu::noinline]] outcome lock_exclusive_among_others(rwlock& lock, rules how) noexcept {
  thread_record* const me = enlist(lock.domain);
  meet(lock, me, how);
  const auto acquire = [&] {
    return candidate(lock, me, how, candidate::own_hold::none).acquire();
  };
  return is_observed() ? observed(lock, hold_kind::write, how, acquire) : acquire();
}

}  // namespace

outcome lock_exclusive_slow(rwlock& lock, rules how) noexcept {
  if (lock_exclusive_alone(lock, my_record(lock.domain), how)) return outcome::acquired;
  return lock_exclusive_among_others(lock, how);
}

void unlock_exclusive_slow(rwlock& lock, rules how) noexcept {
  if (unlock_exclusive_with_bias(lock)) return;
  if (is_observed()) observe_release(lock, hold_kind::write);
  stop_writing(lock, how, 0);
}

outcome upgrade(rwlock& lock, rules how) noexcept {
  thread_record* const me = my_record_or_null(lock.domain);
  auto own = candidate::own_hold::active;  // a hold that is not on record is counted
  if (me != nullptr) {
    if (upgrade_at_once(lock, *me)) return outcome::acquired;
    const int passive = passive_holds_of(*me, lock);
    if (passive != 0) own = candidate::own_hold::passive;
    if (passive + noted_holds_of(*me, lock) > 1 && !is_mutant(mutant::upgrade_of_two_holds)) {
      return outcome::busy;
    }
  }
  const auto acquire = [&] {
    return READMOST_VARIANT(upgrade_lets_go, candidate(lock, me, how, own).acquire(),
                            (unlock_shared_slow(lock), lock_exclusive_slow(lock, how)));
  };
  return is_observed() ? observed_upgrade(lock, how, acquire) : acquire();
}

void downgrade(rwlock& lock, rules how) noexcept {
  if (is_observed()) observe_downgrade(lock);
  if (thread_record* const me = my_record_or_null(lock.domain)) {
    if (notes_holds(lock.state.load(platform::relaxed))) note_hold(*me, lock);
    platform::take_one(me->until_account);
    if (lock_statistics_on()) note_read(address(lock), false);
  }
  stop_writing(lock, how, is_mutant(mutant::downgrade_uncounted) ? 0 : rwlock::one_reader);
}

void forget_holds_before_reuse(rwlock& lock) noexcept {
  if (is_observed()) observe_destruction(lock);
  const std::uint64_t state = lock.state.load(platform::relaxed);
  if ((state & (rwlock::any_bias | rwlock::draining)) != 0) {
    erase_passive_holds(domains[lock.domain], &lock);
  }
}

}  // namespace readmost::detail
