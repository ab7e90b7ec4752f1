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
// come (bravo.md's listing hangs there), and a writer that sleeps or is off its CPU slows nobody
// down.
//
// Nobody sleeps for ever: while writers sleep on the state, either writers_parked is set and there
// is somebody inside who sees it when leaving, or a writer that was woken in the name of all has
// yet to enter (and sets it again) or to give up (and wakes the next). Whoever gives the bias wakes
// one too.
#include "bias.hpp"
#include "waiting.hpp"

namespace readmost {

namespace {

constexpr std::uint32_t sleeping_readers = 1;
constexpr std::uint32_t sleeping_writers = 2;

// Waiters sleep on the half of the state that readers do not change as they come and go.
platform::futex_word sleep_word(const rwlock& lock) noexcept {
  return platform::futex_of_low_half(lock.state);
}

std::uintptr_t address(const rwlock& lock) noexcept {
  return reinterpret_cast<std::uintptr_t>(&lock);
}

void meet(rwlock& lock) noexcept {
  if ((lock.traits.load(platform::relaxed) & rwlock::met) != 0) return;
  if ((lock.traits.fetch_or(rwlock::met, platform::relaxed) & rwlock::met) == 0) {
    default_domain.locks_met.fetch_add(1, platform::relaxed);
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

  wake_up(std::uint64_t& next, preference prefers) noexcept {
    if ((next & rwlock::writing) != 0 || is_mutant(mutant::lost_wakeup)) return;
    const bool readers_first = (next & rwlock::waiting_writers) == 0 ||
                               prefers == preference::reader ||
                               (next & rwlock::readers_starve) != 0;
    const bool writer_parked = (next & rwlock::writers_parked) != 0;
    if (readers_first && (next & rwlock::readers_parked) != 0) {
      next &= ~rwlock::readers_parked;
      readers = true;
    }
    // Passive readers will wake nobody when they leave.
    if (writer_parked && (!readers || (next & rwlock::biased) != 0)) {
      next &= ~rwlock::writers_parked;
      writer = true;
    }
    writer_if_no_reader = writer_parked && !writer;
  }

  // Uses only the address of the lock, which may be gone.
  void carry_out(platform::futex_word word) const noexcept {
    int woken = 0;
    if (readers) woken = platform::futex_wake(word, INT32_MAX, sleeping_readers);
    if (writer || (writer_if_no_reader && woken == 0)) {
      platform::futex_wake(word, 1, sleeping_writers);
    }
  }
};

// Changes the state by `change` and wakes whom that lets in.
template <class Change>
void open_door(rwlock& lock, preference prefers, std::memory_order order, Change change) noexcept {
  const platform::futex_word word = sleep_word(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    std::uint64_t next = change(state);
    const wake_up wake(next, prefers);
    if (lock.state.compare_exchange_weak(state, next, order, platform::relaxed)) {
      wake.carry_out(word);
      return;
    }
  }
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

// Like try_lock_shared_passive(), but comes online first and uses any free slot.
bool lock_passively(rwlock& lock, thread_record& me) noexcept {
  if (!come_online(me)) return false;
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = 0; i < held_slots; ++i) {
    auto& slot = me.held[(home + i) % held_slots];
    if (slot.load(platform::relaxed) != 0) continue;
    if (i != 0) change_elsewhere(me, +1);
    // As (A), (B) and (C).
    slot.store(address(lock), platform::release);
    platform::light_fence();
    if ((lock.state.load(platform::acquire) & rwlock::biased) == 0 ||
        participation_of(me.mode.load(platform::relaxed)) != participation::online) {
      slot.store(0, platform::release);
      if (i != 0) change_elsewhere(me, -1);
      report_after_unlock();
      return false;
    }
    count_own(me.reads[home]);
    return true;
  }
  return false;
}

void note_active_hold(thread_record& me, const rwlock& lock) noexcept {
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = 0; i < held_slots; ++i) {
    auto& slot = me.held[(home + i) % held_slots];
    if (slot.load(platform::relaxed) != 0) continue;
    if (i != 0) change_elsewhere(me, +1);
    slot.store(address(lock) | held_active, platform::relaxed);
    return;
  }
  ++me.untracked;
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
  std::uint64_t state = lock.state.load(platform::relaxed);
  while ((state & (rwlock::biased | rwlock::writing | rwlock::waiting_writers)) == 0) {
    lock.grant.store(rwlock::not_granted, platform::relaxed);
    std::uint64_t next = (state | rwlock::biased) & ~rwlock::draining;
    const wake_up wake(next, how.prefers);
    if (lock.state.compare_exchange_weak(state, next, platform::release, platform::relaxed)) {
      wake.carry_out(sleep_word(lock));
      return;
    }
  }
}

// The caller's compare-and-swap changed `before` by one reader.
void entered_actively(rwlock& lock, thread_record& me, std::uint64_t before, rules how) noexcept {
  note_active_hold(me, lock);
  count_own(me.active_reads);
  if ((before & rwlock::biased) != 0 ||
      me.active_reads.load(platform::relaxed) % active_reads_per_account != 0) {
    return;
  }
  bias::credit_active_reads(lock, has_company(me));
  if (bias::is_earned(lock)) give_bias(lock, how);
}

// A starving reader that gives up must not keep the writers out.
void stop_starving(rwlock& lock, rules how) noexcept {
  open_door(lock, how.prefers, platform::relaxed,
            [](std::uint64_t state) { return state & ~rwlock::readers_starve; });
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

}  // namespace

void retract_published(const rwlock& lock) noexcept {
  this_thread->held[home_slot(&lock)].store(0, platform::release);
  report_after_unlock();
}

outcome lock_shared_slow(rwlock& lock, rules how) noexcept {
  thread_record* me = enlist();
  meet(lock);
  const bool mine_already = how.recursive && holds_shared(me, lock);
  patience limit(lock);
  bool credited = false;
  bool starving = false;
  bool expired = false;
  spinner spin(me, &lock);
  for (;;) {
    std::uint64_t state = lock.state.load(platform::acquire);
    if ((state & rwlock::biased) != 0 && me != nullptr) {
      if (lock_passively(lock, *me)) {
        if (starving) stop_starving(lock, how);
        return outcome::acquired;
      }
      state = lock.state.load(platform::acquire);
    }
    const bool open =
        (state & rwlock::writing) == 0 && ((state & rwlock::waiting_writers) == 0 ||
                                           (state & rwlock::readers_starve) != 0 || mine_already);
    if (open) {
      if (rwlock::readers(state) >= rwlock::max_readers) return outcome::overflow;
      std::uint64_t next = state + rwlock::one_reader;
      if (starving) next &= ~rwlock::readers_starve;
      // Acquire pairs with (M).
      if (!lock.state.compare_exchange_weak(state, next, platform::acquire, platform::relaxed)) {
        if (spin.turn(false)) continue;
        spin.restart();
        continue;
      }
      if (me != nullptr) entered_actively(lock, *me, state, how);
      return outcome::acquired;
    }

    const std::uint8_t grant = lock.grant.load(platform::acquire);
    if ((state & rwlock::writing) != 0 && grant != rwlock::granted && !credited && me != nullptr) {
      bias::credit_passive_reads(lock, *me, true);
      credited = true;
    }
    if (how.try_only) {
      // A writer that is about to know whether it has the lock may yet be refused.
      if ((state & rwlock::writing) == 0 || grant != rwlock::not_granted || is_deciding(me, lock)) {
        return outcome::busy;
      }
      if (!spin.short_turn()) return outcome::busy;
      continue;
    }
    if (expired) {
      if (starving) stop_starving(lock, how);
      return outcome::timed_out;
    }
    if (spin.turn(grant != rwlock::granted)) continue;

    if (starving && (state & rwlock::readers_starve) == 0) {
      // Opens the door, unless a writer is inside.
      lock.state.compare_exchange_weak(state, state | rwlock::readers_starve, platform::relaxed);
      continue;
    }
    const std::uint64_t parked = state | rwlock::readers_parked;
    if (parked != state && !lock.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      continue;
    }
    if (me != nullptr) go_offline(*me);
    const auto expected = static_cast<std::uint32_t>(parked);
    if (how.prefers == preference::writer && !starving) {
      if (platform::futex_wait(sleep_word(lock), expected, sleeping_readers,
                               limit.until(how.until)) == platform::wake_reason::timed_out) {
        expired = limit.is_callers();
        starving = !expired && limit.passed_over(lock);
      }
    } else {
      expired = platform::futex_wait(sleep_word(lock), expected, sleeping_readers, how.until) ==
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
    slot.store(0, platform::release);  // as (D)
    if (i != 0) change_elsewhere(me, -1);
    return held == address(lock) ? found::passive : found::active;
  }
  if (me.untracked != 0) --me.untracked;
  return found::nothing;
}

}  // namespace

bool unlock_shared_slow(rwlock& lock) noexcept {
  thread_record& me = *this_thread;
  if (&me != &unregistered) {
    if (take_off_record(me, lock) == found::passive) {
      platform::light_fence();
      if (default_domain.version.load(platform::relaxed) != me.seen.load(platform::relaxed)) {
        report_after_unlock();
      }
      return true;
    }
  }

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
    // (P) Release pairs with the acquire of the writer that finds the count at zero.
    if (!lock.state.compare_exchange_weak(state, next, platform::release, platform::relaxed)) {
      continue;
    }
    if (last && !is_mutant(mutant::lost_wakeup)) platform::futex_wake(word, 1, sleeping_writers);
    if (debt) wake_drain_sleepers();
    return true;
  }
}

// --- Writers -----------------------------------------------------------------------------------

namespace {

void count_write(thread_record* me) noexcept {
  if (me != nullptr) count_own(me->writes);
}

void enter(rwlock& lock, std::uint8_t grant) noexcept {
  // Release: who finds the grant knows that the claim is decided.
  lock.grant.store(grant, platform::release);
}

// Whether all readers that may be inside are gone. Passive holds and debts cancel each other.
bool nobody_inside(std::int64_t passive, std::int64_t readers) noexcept {
  if (is_mutant(mutant::forget_passive_readers)) passive = 0;
  if (is_mutant(mutant::forget_active_readers)) readers = 0;
  return passive + readers <= 0;
}

bool is_drained(const rwlock& lock, const thread_record* me) noexcept {
  const std::uint64_t state = lock.state.load(platform::acquire);
  if ((state & rwlock::draining) == 0) return true;
  const std::int64_t passive = passive_holds(&lock, me, 0);
  return passive == 0 || nobody_inside(passive, rwlock::readers(state));
}

// Waits until the passive readers that a claim has met are gone; false at the deadline.
bool wait_until_drained(const rwlock& lock, thread_record* me,
                        const platform::deadline* until) noexcept {
  for (spinner spin(me, &lock); spin.turn(true);) {
    if (is_drained(lock, me)) return true;
  }
  const drain_sleep sleep(me);
  for (;;) {
    const std::uint32_t epoch = sleep.epoch();
    if (is_drained(lock, me)) return true;
    if (sleep.wait(epoch, until) == platform::wake_reason::timed_out) return is_drained(lock, me);
  }
}

// The claim of a lock that is or was biased: closes it, reaches consensus, looks who is inside.
enum class claim_result { entered, lost_race, backed_out };

// While it lives, the calling thread's handlers know that they cannot wait for the decision, and a
// fork's child that it will not be taken.
class decision {
 public:
  decision(thread_record* me, const rwlock& lock) noexcept : me_(me) {
    if (me_ != nullptr) me_->deciding.store(address(lock), platform::relaxed);
    platform::light_fence();
  }
  ~decision() {
    platform::light_fence();
    if (me_ != nullptr) me_->deciding.store(0, platform::relaxed);
  }
  decision(const decision&) = delete;
  decision& operator=(const decision&) = delete;

 private:
  thread_record* me_;
};

// What a writer that goes in leaves behind: it is waiting no more, and if it was woken it was in
// the name of all that sleep.
std::uint64_t as_writing(std::uint64_t state, bool waiting, bool has_slept) noexcept {
  state |= rwlock::writing;
  if (waiting) state -= rwlock::one_writer;
  if (has_slept) state |= rwlock::writers_parked;
  return state;
}

claim_result claim(rwlock& lock, thread_record* me, rules how, std::uint64_t state, bool waiting,
                   bool has_slept) noexcept {
  const bool revoking = (state & rwlock::biased) != 0;
  const std::uint64_t next =
      as_writing(state, waiting, has_slept) & ~(rwlock::biased | rwlock::draining);
  const decision pending(me, lock);
  // Comes from another core while the compare-and-swap waits for its line.
  if (revoking) platform::prefetch_for_write(&default_domain.version);
  // (K) The bias is gone before the look at versions, modes and slots. Pairs with (A) by way of
  // (B), and with (F). Acquire: pairs with (M) and (P).
  if (!lock.state.compare_exchange_strong(state, next, platform::seq_cst, platform::relaxed)) {
    return claim_result::lost_race;
  }
  std::uint64_t round = 0;
  if (revoking) {
    const std::uint64_t start = platform::now();
    round = reach_consensus(me);
    const std::uint64_t cost = platform::now() - start;
    bias::debit_revocation(lock, cost);
    if (round != 0) bias::remember_cost(cost);
    if (me != nullptr) {
      count_own(me->revocations);
      bias::credit_passive_reads(lock, *me, round != 0);
    }
  }
  const std::int64_t passive = passive_holds(&lock, me, round);
  const std::int64_t readers = rwlock::readers(lock.state.load(platform::acquire));
  if (nobody_inside(passive, readers)) {
    if (passive != 0) erase_passive_holds(&lock);
    if (readers != 0)
      lock.state.fetch_sub(static_cast<std::uint64_t>(readers) << 32, platform::relaxed);
    enter(lock, revoking ? rwlock::granted_by_revocation : rwlock::granted);
    return claim_result::entered;
  }
  open_door(lock, how.prefers, platform::release, [&](std::uint64_t now) {
    now &= ~rwlock::writing;
    if (how.try_only && revoking && (now & rwlock::waiting_writers) == 0) {
      return now | rwlock::biased;
    }
    if (passive != 0) now |= rwlock::draining;
    if (how.try_only) return now;
    return how.prefers == preference::writer ? now + rwlock::one_writer : now;
  });
  return claim_result::backed_out;
}

// A writer gives up waiting. Readers may have waited behind it, and it may have been woken in the
// place of another writer.
void stop_waiting(rwlock& lock, preference prefers, bool waiting, bool has_slept) noexcept {
  if (is_mutant(mutant::silent_waiters)) return;
  if (waiting) {
    open_door(lock, prefers, platform::relaxed,
              [](std::uint64_t state) { return state - rwlock::one_writer; });
  }
  if (has_slept) platform::futex_wake(sleep_word(lock), 1, sleeping_writers);
}

outcome lock_exclusive_slow(rwlock& lock, rules how) noexcept {
  thread_record* me = enlist();
  meet(lock);
  bool waiting = false;
  bool has_slept = false;
  bool expired = false;
  spinner spin(me, &lock);
  for (;;) {
    std::uint64_t state = lock.state.load(platform::acquire);
    const bool closed =
        (state & rwlock::writing) != 0 || (!how.try_only && (state & rwlock::readers_starve) != 0);
    if (!closed && (state & (rwlock::biased | rwlock::draining)) != 0) {
      switch (claim(lock, me, how, state, waiting, has_slept)) {
        case claim_result::entered:
          count_write(me);
          return outcome::acquired;
        case claim_result::lost_race:
          continue;
        case claim_result::backed_out:
          if (how.try_only) return outcome::busy;
          waiting = how.prefers == preference::writer;
          if (expired) break;
          expired = !wait_until_drained(lock, me, how.until);
          continue;
      }
    } else if (!closed && (nobody_inside(0, rwlock::readers(state)) ||
                           (is_mutant(mutant::handoff_over_readers) && has_slept))) {
      const std::uint64_t next = as_writing(state, waiting, has_slept);
      // Acquire pairs with (M) and (P).
      if (lock.state.compare_exchange_weak(state, next, platform::acquire, platform::relaxed)) {
        enter(lock, rwlock::granted);
        if (!waiting && me != nullptr) bias::debit_write(lock, *me);
        count_write(me);
        return outcome::acquired;
      }
      continue;
    }

    if (how.try_only) {
      // A writer that is about to know whether it has the lock may yet be refused.
      if ((state & rwlock::writing) == 0 ||
          lock.grant.load(platform::acquire) != rwlock::not_granted || is_deciding(me, lock)) {
        return outcome::busy;
      }
      if (!spin.short_turn()) return outcome::busy;
      continue;
    }
    if (expired) {
      stop_waiting(lock, how.prefers, waiting, has_slept);
      return outcome::timed_out;
    }
    if (!waiting && how.prefers == preference::writer) {
      waiting =
          lock.state.compare_exchange_weak(state, state + rwlock::one_writer, platform::relaxed);
      continue;
    }
    if (spin.turn(lock.grant.load(platform::relaxed) != rwlock::granted)) continue;

    const std::uint64_t parked = state | rwlock::writers_parked;
    if (parked != state && !lock.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      continue;
    }
    if (me != nullptr) go_offline(*me);
    has_slept = true;
    expired = platform::futex_wait(sleep_word(lock), static_cast<std::uint32_t>(parked),
                                   sleeping_writers, how.until) == platform::wake_reason::timed_out;
    spin.restart();
  }
}

}  // namespace

outcome lock_exclusive(rwlock& lock, rules how) noexcept {
  std::uint64_t free = 0;
  if ((lock.traits.load(platform::relaxed) & rwlock::met) == 0 || this_thread == &unregistered ||
      !lock.state.compare_exchange_strong(free, rwlock::writing, platform::acquire,
                                          platform::relaxed)) {
    return lock_exclusive_slow(lock, how);
  }
  enter(lock, rwlock::granted);
  bias::debit_write(lock, *this_thread);
  count_own(this_thread->writes);
  return outcome::acquired;
}

void unlock_exclusive(rwlock& lock, rules how) noexcept {
  const std::uint8_t grant = lock.grant.load(platform::relaxed);
  const bool bias = (bias::is_earned(lock) ||
                     (grant == rwlock::granted_by_revocation && bias::is_worth_keeping(lock))) &&
                    bias::is_allowed(lock, how);
  lock.turn.store(static_cast<std::uint16_t>(lock.turn.load(platform::relaxed) + 1),
                  platform::relaxed);
  thread_record* const me = this_thread != &unregistered ? this_thread : nullptr;
  const decision pending(bias ? me : nullptr, lock);
  if (bias) lock.grant.store(rwlock::not_granted, platform::relaxed);
  // (M) Release pairs with (C) and with every acquiring compare-and-swap: who enters next sees what
  // the writer did. The last access to the lock's memory. While writers wait the lock stays without
  // bias: they take over without a new consensus (fcp.md 4.1, PASS).
  open_door(lock, how.prefers, platform::release, [&](std::uint64_t now) {
    now &= ~rwlock::writing;
    return bias && (now & rwlock::waiting_writers) == 0 ? now | rwlock::biased : now;
  });
}

void settle_before_reuse(rwlock& lock) noexcept {
  const std::uint64_t state = lock.state.load(platform::acquire);
  if ((state & (rwlock::biased | rwlock::draining)) != 0) erase_passive_holds(&lock);
}

}  // namespace readmost
