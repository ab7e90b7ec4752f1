// The slow path of a read lock (first use, a lock without bias, occupied slots, waiting), and how a
// lock gets its bias.
#include "lock/bias.hpp"
#include "lock/decision.hpp"
#include "lock/holds.hpp"
#include "lock/parking.hpp"
#include "lock/wait_queue.hpp"
#include "lock/waiting.hpp"
#include "lock/waking.hpp"

namespace readmost::detail {

namespace {

// Clears a slot that a reader has filled too late. A writer may have taken it for a hold and sleep
// until it is released.
void take_back(thread_record& me, platform::atomic<std::uintptr_t>& slot,
               std::uintptr_t left) noexcept {
  // (D2) Release: if a writer's (L) reads this store instead of the preceding (D), that section
  // still happens before the writer.
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

// Whether other threads exist, so that the lock's line may have to come from another core. Checks
// one chunk of records only.
bool has_company(const thread_record& me) noexcept {
  return (chunk_of(me).used.load(platform::relaxed) & ~bit(number_of(me))) != 0;
}

// Biases the lock; the caller holds it.
void give_bias(rwlock& lock, rules how) noexcept {
  if (!bias::is_allowed(lock, how)) {
    lock.balance.store(bias::lowest, platform::relaxed);  // not to be asked at every read
    return;
  }
  constexpr std::uint64_t in_the_way =
      rwlock::biased | rwlock::writing | rwlock::waiting_writers | rwlock::upgrading;
  std::uint64_t state = lock.state.load(platform::relaxed);
  while ((state & in_the_way) == 0) {
    lock.grant.store(rwlock::not_granted, platform::relaxed);
    std::uint64_t next = (state | rwlock::biased) & ~rwlock::draining;
    const wake_up wake(next, how.prefers);
    // (M3) Release: a thread that sees the bias also sees that the grant has been withdrawn.
    if (lock.state.compare_exchange_weak(state, next, at(letter::M3, platform::release),
                                         platform::relaxed)) {
      wake.carry_out(sleep_word(lock));
      return;
    }
  }
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

// A thread on its way to a read hold, when the fast paths have failed.
class reader {
 public:
  reader(rwlock& lock, thread_record* me, rules how) noexcept
      : lock_(lock),
        me_(me),
        how_(how),
        holds_already_(how.recursive && holds_shared(me, lock)),
        patience_(lock),
        spin_(me, &lock),
        watch_(lock, false) {}

  outcome acquire() noexcept {
    for (;;) {
      // (V3) The grant read below belongs to this state or to a later one.
      std::uint64_t state = lock_.state.load(at(letter::V3, platform::acquire));
      if ((state & rwlock::biased) != 0 && me_ != nullptr) {
        if (lock_passively(lock_, *me_)) return leave_queue(outcome::acquired);
        state = lock_.state.load(at(letter::V3, platform::acquire));
      }
      if (is_open(state)) {
        if (rwlock::readers(state) >= rwlock::max_readers) return leave_queue(outcome::overflow);
        if (enter(state)) return outcome::acquired;
        if (!spin_.spin(false)) spin_.restart();
        continue;
      }

      const std::uint8_t grant = lock_.grant.load(platform::relaxed);
      credit_passive_reads(state, grant);
      if (how_.try_only) {
        if (awaits_decision(lock_, me_, state, spin_)) continue;
        return outcome::busy;
      }
      watch_.start();
      if (expired_) {
        return is_mutant(mutant::counted_for_ever) ? outcome::timed_out
                                                   : leave_queue(outcome::timed_out);
      }
      if (is_to_be_counted(state)) {
        join_queue(state);
      } else if (spin_.spin(grant != rwlock::granted)) {
        // A waiting writer that could be inside may lack the CPU.
        if ((state & rwlock::writing) == 0 && spin_.has_been_long()) platform::yield();
      } else {
        sleep(state);
      }
    }
  }

 private:
  bool is_open(std::uint64_t state) const noexcept {
    return (state & rwlock::writing) == 0 &&
           ((state & rwlock::waiting_writers) == 0 || (state & rwlock::reader_phase) != 0 ||
            holds_already_);
  }

  // Takes an active hold; false if the state is no longer `state`.
  bool enter(std::uint64_t state) noexcept {
    std::uint64_t next = state + rwlock::one_reader;
    if (counted_) next = rwlock::without_waiter(next, waits_as::reader);
    // (J2) Pairs with (M).
    if (!stop_waiting(lock_, me_, counted_, waits_as::reader, state, next,
                      at(letter::J2, platform::acquire))) {
      return false;
    }
    if (me_ == nullptr) return true;
    note_active_hold(*me_, lock_);
    if ((state & rwlock::biased) == 0 &&
        me_->active_reads[home_slot(&lock_)].load(platform::relaxed) % active_reads_per_account ==
            0) {
      update_account(lock_, how_);
    }
    return true;
  }

  // Credits them once, when the reader sees a writer revoke the bias.
  void credit_passive_reads(std::uint64_t state, std::uint8_t grant) noexcept {
    if ((state & rwlock::writing) == 0 || grant == rwlock::granted || credited_ || me_ == nullptr) {
      return;
    }
    bias::credit_passive_reads(lock_, *me_, true);
    credited_ = true;
  }

  // A counted reader gets a turn: under phase-fair preference when the writer leaves; a starving
  // one at once, unless a writer is inside.
  bool is_to_be_counted(std::uint64_t state) const noexcept {
    return !counted_ && (starving_ || how_.prefers == preference::phase_fair) &&
           can_be_counted(state, waits_as::reader);
  }

  void join_queue(std::uint64_t state) noexcept {
    std::uint64_t next = with_waiter(state, waits_as::reader);
    if (starving_) next |= rwlock::reader_phase;
    counted_ = start_waiting(lock_, me_, waits_as::reader, state, next);
  }

  // For exits that do not change the state otherwise.
  outcome leave_queue(outcome result) noexcept {
    if (!counted_) return result;
    note_waited(me_);
    open_door(lock_, how_.prefers, platform::relaxed,
              [](std::uint64_t state) { return rwlock::without_waiter(state, waits_as::reader); });
    return result;
  }

  // Sleeps until another thread opens the door, unless the state has changed.
  void sleep(std::uint64_t state) noexcept {
    const std::uint64_t parked = state | rwlock::readers_parked;
    if (parked != state && !lock_.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      return;
    }
    go_offline();
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
    spin_.restart();
  }

  rwlock& lock_;
  thread_record* const me_;
  const rules how_;
  const bool holds_already_;
  bool credited_ = false;
  bool counted_ = false;   // in waiting_readers
  bool starving_ = false;  // writers have passed it over
  bool expired_ = false;   // the caller's deadline has passed
  patience patience_;
  spinner spin_;
  wait_watch watch_;
};

}  // namespace

void update_account(rwlock& lock, rules how) noexcept {
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
  return reader(lock, me, how).acquire();
}

}  // namespace readmost::detail
