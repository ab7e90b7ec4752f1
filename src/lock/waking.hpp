// Decides which waiters to wake when the state changes.
//
// No waiter sleeps for ever. While writers sleep on the state, either writers_parked is set and a
// thread inside will see it when leaving; or one writer has been woken for all of them and has yet
// to enter, which sets the bit again, or to give up, which wakes the next. A thread that biases the
// lock wakes a writer too. An upgrader sleeps with upgrader_parked set; the last other reader to
// leave clears it. `handoff` keeps others out only while nobody is inside, and is set only by a
// writer that then sleeps: that one, or the one that is woken in its place, clears it when it
// enters or gives up.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "lock/parking.hpp"

namespace readmost::detail {

// Waiters sleep on the half of the state that readers do not change as they come and go.
inline platform::futex_word sleep_word(const rwlock& lock) noexcept {
  return platform::futex_of_low_half(lock.state);
}

// Whether the state counts writers that wait; then they keep readers out.
inline bool counts_writers(preference prefers) noexcept {
  return prefers != preference::reader;
}

// Whether a reader without another hold of the lock may enter, apart from the claim of a writer.
inline bool admits_readers(std::uint64_t state, preference prefers) noexcept {
  if ((state & rwlock::writing) != 0) return false;
  if ((state & rwlock::reader_phase) != 0) return true;
  constexpr std::uint64_t waiting = rwlock::waiting_writers | rwlock::upgrading;
  if ((state & waiting) != 0 && counts_writers(prefers)) return false;
  // With readers inside, it is their preference that counts: one of them may wait for this one.
  return (state & rwlock::handoff) == 0 || rwlock::readers(state) != 0 ||
         (state & (rwlock::any_bias | rwlock::draining)) != 0;
}

// Which waiters to wake.
struct wake_up {
  bool readers = false;
  bool writer = false;
  bool upgrader = false;
  // All readers may have given up just now; then a writer has to be woken instead.
  bool writer_if_no_reader = false;

  // Decides when the state becomes `next`, and clears the bits in `next` of those that will be
  // woken.
  static wake_up at_open_door(std::uint64_t& next, preference prefers) noexcept {
    wake_up wake;
    if ((next & rwlock::writing) != 0 || is_mutant(mutant::lost_wakeup)) return wake;
    wake.readers = admits_readers(next, prefers) && take(next, rwlock::readers_parked);
    wake.upgrader = take(next, rwlock::upgrader_parked);
    // Active readers inside wake a writer when they leave, passive ones do not.
    const bool biased = (next & rwlock::any_bias) != 0;
    const bool is_writers_turn = rwlock::readers(next) == 0 || biased;
    if (wake.readers && !biased) {
      wake.writer_if_no_reader = is_writers_turn && (next & rwlock::writers_parked) != 0;
    } else {
      wake.writer = is_writers_turn && take(next, rwlock::writers_parked);
    }
    return wake;
  }

  // The same where an active reader has left, for whom no reader waits.
  static wake_up after_reader(std::uint64_t& next) noexcept {
    const std::uint64_t left = rwlock::readers(next);
    wake_up wake;
    wake.writer =
        left == 0 && take(next, rwlock::writers_parked) && !is_mutant(mutant::lost_wakeup);
    wake.upgrader = left <= 1 && take(next, rwlock::upgrader_parked) &&
                    !is_mutant(mutant::lost_upgrader_wakeup);
    return wake;
  }

  // Uses only the address of the lock, which may be gone.
  void carry_out(platform::futex_word word) const noexcept {
    int woken = 0;
    if (readers) woken = parking::wake_readers(word);
    // All of them: upgraders that waited for a claim to be decided are not counted.
    if (upgrader) {
      platform::futex_wake(word, is_mutant(mutant::one_upgrader_woken) ? 1 : INT32_MAX,
                           parking::upgrader);
    }
    if (writer || (writer_if_no_reader && woken == 0)) {
      platform::futex_wake(word, 1, parking::writers);
    }
  }

 private:
  // Clears the bit in `next`; returns whether it was set.
  static bool take(std::uint64_t& next, std::uint64_t bit) noexcept {
    const bool was_set = (next & bit) != 0;
    next &= ~bit;
    return was_set;
  }
};

// Replaces the state by change(state) and wakes the waiters that may now enter.
template <class Change>
void open_door(rwlock& lock, preference prefers, std::memory_order order, Change change) noexcept {
  const platform::futex_word word = sleep_word(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    std::uint64_t next = change(state);
    const wake_up wake = wake_up::at_open_door(next, prefers);
    if (lock.state.compare_exchange_weak(state, next, order, platform::relaxed)) {
      wake.carry_out(word);
      return;
    }
  }
}

}  // namespace readmost::detail
