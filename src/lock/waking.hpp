// SPDX-License-Identifier: Apache-2.0
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

// Whether a reader without another hold of the lock may enter, apart from the claim of a writer.
inline bool admits_readers(std::uint64_t state, preference prefers) noexcept {
  if ((state & rwlock::writing) != 0) return false;
  if ((state & rwlock::reader_phase) != 0) return true;
  if ((state & rwlock::waiting_writers) != 0 && prefers != preference::reader) return false;
  // With readers inside, it is their preference that counts: one of them may wait for this one.
  return (state & rwlock::handoff) == 0 || rwlock::readers(state) != 0 ||
         (state & (rwlock::any_bias | rwlock::draining)) != 0;
}

// Whether writers wait for the end of the readers' phase: until all that are counted are inside.
inline bool is_phase_awaited(std::uint64_t state, preference prefers) noexcept {
  return prefers != preference::reader && (state & rwlock::reader_phase) != 0 &&
         (state & rwlock::waiting_writers) != 0;
}

// Decides which waiters to wake when the state becomes `next`, and clears the bits in `next` of
// those that will be woken.
struct wake_up {
  bool readers = false;
  bool writer = false;
  bool upgrader = false;
  // All readers may have given up just now; then a writer has to be woken instead.
  bool writer_if_no_reader = false;

  wake_up(std::uint64_t& next, preference prefers) noexcept {
    if ((next & rwlock::writing) != 0 || is_mutant(mutant::lost_wakeup)) return;
    const bool readers_first = admits_readers(next, prefers);
    if (readers_first && (next & rwlock::readers_parked) != 0) {
      next &= ~rwlock::readers_parked;
      readers = true;
    }
    if ((next & rwlock::upgrader_parked) != 0) {
      next &= ~rwlock::upgrader_parked;
      upgrader = true;
    }
    // Active readers inside wake a writer when they leave, passive ones do not.
    const bool biased = (next & rwlock::any_bias) != 0;
    const bool writer_parked =
        (next & rwlock::writers_parked) != 0 && (rwlock::readers(next) == 0 || biased);
    if (writer_parked && (!readers || !readers_first || biased)) {
      next &= ~rwlock::writers_parked;
      writer = true;
    }
    writer_if_no_reader = writer_parked && !writer;
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
};

// Replaces the state by change(state) and wakes the waiters that may now enter.
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

}  // namespace readmost::detail
