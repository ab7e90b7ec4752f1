// The slow paths of writers: claims, revocation, backing out, waiting; upgrade and downgrade.
#include "lock/bias.hpp"
#include "lock/decision.hpp"
#include "lock/holds.hpp"
#include "lock/parking.hpp"
#include "lock/wait_queue.hpp"
#include "lock/waiting.hpp"
#include "lock/waking.hpp"
#include "platform/probes.hpp"

namespace readmost::detail {

namespace {

// The caller holds the lock alone.
void count_write(thread_record* me, const rwlock& lock) noexcept {
  if (me == nullptr) return;
  count_own(me->writes);
  if (lock_statistics_on()) note_write(address(lock));
}

void enter(rwlock& lock, std::uint8_t grant) noexcept {
  lock.grant.store(grant, platform::relaxed);
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
      if (!spin_.spin(lock_.grant.load(platform::relaxed) != rwlock::granted)) sleep(state);
    }
  }

 private:
  enum class claim_result { entered, lost_race, backed_out };

  // The number of the lock's read holds in slots and in its count.
  struct read_holds {
    std::int64_t passive;
    std::int64_t active;
  };

  bool upgrades() const noexcept { return own_ != own_hold::none; }

  // A reader that upgrades is inside already, so the readers' phase does not keep it out.
  bool is_closed(std::uint64_t state) const noexcept {
    return (state & rwlock::writing) != 0 ||
           (!how_.try_only && !upgrades() && (state & rwlock::reader_phase) != 0 &&
            !is_mutant(mutant::phase_ignored));
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

  // Chooses the kind of waiter as which `state` counts the caller; false if its field is full. An
  // upgrader needs no room.
  bool choose_count(std::uint64_t state) noexcept {
    if (upgrades() && !can_be_counted(state, as_)) as_ = waits_as::upgrader;
    return can_be_counted(state, as_);
  }

  // The state as this writer enters: it no longer waits, and if it was woken, it takes on the
  // wake-up of all sleeping writers.
  std::uint64_t as_writing(std::uint64_t state) const noexcept {
    if (waiting_) state = rwlock::without_waiter(state, as_);
    if (has_slept_ && !upgrades()) state |= rwlock::writers_parked;
    return state | rwlock::writing;
  }

  void take_off_own_hold() noexcept {
    if (upgrades() && me_ != nullptr) take_off_record(*me_, lock_);
  }

  // Claims a lock that is biased or draining: closes it, reaches consensus, checks for readers
  // inside.
  claim_result claim(std::uint64_t state) noexcept {
    domain& d = domains[is_mutant(mutant::wrong_domain) ? 0 : lock_.domain];
    const bool revoking = (state & rwlock::biased) != 0;
    const std::uint64_t next = as_writing(state) & ~(rwlock::biased | rwlock::draining);
    const decision pending(me_, lock_);
    // This line comes from another core while the compare-and-swap waits for the lock's.
    if (revoking) platform::prefetch_for_write(&d.version);
    // (K) The bias is cleared before versions, modes and slots are read. Pairs with (A) by way of
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
      erase_debts(d, inside.passive - (own_ == own_hold::passive ? 1 : 0), inside.active);
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

  // No other thread is inside, so only debts remain and the passive holds that they cancel: removes
  // both from the count and the slots. A hold seen in a slot may be in the count by now, if its
  // thread has exited meanwhile.
  void erase_debts(domain& d, std::int64_t passive, std::int64_t readers) noexcept {
    if (passive != 0) {
      const std::int64_t erased = erase_passive_holds(d, &lock_);
      if (!is_mutant(mutant::settles_what_was_seen)) readers += passive - erased;
    }
    if (readers != 0) {
      lock_.state.fetch_sub(static_cast<std::uint64_t>(readers) << rwlock::readers_shift,
                            platform::relaxed);
    }
  }

  // Reaches consensus that the bias is gone; returns the version that threads had to report, 0 if
  // no report was needed.
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

  // Another thread is inside: opens the door again, at least for recursive readers.
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
    // (M2) Pairs with (K) of the next claim, which finds the lock draining and needs no consensus.
    open_door(lock_, how_.prefers, at(letter::M2, platform::release), undo,
              !is_mutant(mutant::silent_back_out));
    if (waiting_) note_waiting(me_, lock_, as_);
    if (own_ == own_hold::passive && !how_.try_only) count_own_hold();
  }

  // Makes the caller's passive hold an active one, so that the lock can be drained of passive ones.
  void count_own_hold() noexcept {
    READMOST_VARIANT(clears_before_count, count_and_mark(), mark_and_count());
    // Another writer may sleep until the passive hold is released.
    if (!is_mutant(mutant::silent_conversion)) report_after_unlock(*me_);
    own_ = own_hold::active;
  }

  void count_and_mark() noexcept {
    // First counted, then cleared (U3): a writer that scans (L) and then counts (K2) sees the hold
    // in at least one place.
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

  // Waits until the passive readers that a claim has found are gone; false at the deadline.
  bool wait_until_drained() const noexcept {
    const std::uint64_t start = lock_statistics_on() ? platform::now() : 0;
    const bool drained = spin_until_drained() || sleep_until_drained();
    if (start != 0) note_drain(address(lock_), platform::now() - start);
    return drained;
  }

  bool spin_until_drained() const noexcept {
    for (spinner spin(me_, &lock_); spin.spin(true);) {
      if (is_drained()) return true;
      // A reader that stays inside may have lost its CPU to this thread.
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

  // Sleeps until another thread opens the door, unless the state has changed.
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

  // Readers may have waited behind the caller, and its wake-up may have been meant for another
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

// Ends the exclusion of readers. `readers`: one_reader if the caller remains inside as one, or 0.
void stop_writing(rwlock& lock, rules how, std::uint64_t readers) noexcept {
  const std::uint8_t grant = lock.grant.load(platform::relaxed);
  const bool bias = (bias::is_earned(lock) ||
                     (grant == rwlock::granted_by_revocation && bias::is_worth_keeping(lock))) &&
                    bias::is_allowed(lock, how);
  lock.writer_exits.store(static_cast<std::uint16_t>(lock.writer_exits.load(platform::relaxed) + 1),
                          platform::relaxed);
  if (lock_statistics_on()) note_write_end(address(lock));
  // (M1) As (M) below, if no thread waits and the lock gets no bias.
  std::uint64_t alone = rwlock::writing;
  if (!bias && lock.state.compare_exchange_strong(alone, readers, at(letter::M1, platform::release),
                                                  platform::relaxed)) {
    return;
  }
  thread_record& record = my_record(lock.domain);
  const decision pending(bias && &record != &unregistered ? &record : nullptr, lock);
  if (bias) lock.grant.store(rwlock::not_granted, platform::relaxed);
  // (M) Release pairs with (C) and with every acquiring compare-and-swap: the next thread to enter
  // sees the writer's changes. This is the last access to the lock's memory, unless the caller
  // remains as a reader. While writers wait the lock gets no bias, so they take over without a
  // consensus (FCP 4.1, PASS).
  open_door(lock, how.prefers, at(letter::M, platform::release), [&](std::uint64_t now) {
    now = (now & ~rwlock::writing) + readers;
    if (how.prefers == preference::phase_fair && (now & rwlock::waiting_readers) != 0) {
      now |= rwlock::reader_phase;
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
  auto own = candidate::own_hold::active;  // a hold that is not on record is counted
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

void forget_holds_before_reuse(rwlock& lock) noexcept {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  if ((state & (rwlock::biased | rwlock::draining)) != 0) {
    erase_passive_holds(domains[lock.domain], &lock);
  }
}

}  // namespace readmost::detail
