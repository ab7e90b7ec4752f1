// SPDX-License-Identifier: Apache-2.0
// A lock of the shape of glibc's pthread_rwlock_t, for the seam to the platform: readers add
// themselves to one word by a read-modify-write and take themselves off by another, writers close
// that word, and phases of readers and writers alternate (nptl/pthread_rwlock_common.c, glibc 2.25
// and later; under its default kind, which prefers readers).
//
// What it shares with the original is which lines are touched by which operations in which order,
// and who sleeps on what and is woken when. It has no timeouts, errors, kinds or process-shared
// form.
#pragma once

#include <cstdint>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::simulation {

namespace platform = detail::platform;

struct as_glibc {
  // Between two looks at a phase that is about to change.
  static void pause() noexcept {}
  // Whether readers that find their phase begun wait until whoever has begun it has said so.
  static constexpr bool readers_await_hand_over = true;
};

template <class Behaviour>
class basic_glibc_like_rwlock {
 public:
  void lock_shared() noexcept {
    check_owner();
    std::uint32_t found = readers_.fetch_add(one_reader, platform::acquire) + one_reader;
    if ((found & write_phase) == 0) return;
    // If the writer phase has been left, the reader begins a reader phase for all.
    while ((found & write_phase) != 0 && (found & write_locked) == 0) {
      if (readers_.compare_exchange_weak(found, found ^ write_phase, platform::acquire)) {
        change_phase(0);
        return;
      }
    }
    // Whoever has begun one meanwhile says so in phase_, and may be late: nobody may be inside
    // before, and begin the next phase.
    if (Behaviour::readers_await_hand_over || (found & write_phase) != 0) await_phase(0);
  }

  void unlock_shared() noexcept {
    check_owner();
    std::uint32_t found = readers_.load(platform::relaxed);
    std::uint32_t next = 0;
    do {
      next = found - one_reader;
      // The last reader hands over to the writer that waits.
      if (next / one_reader == 0 && (next & write_locked) != 0) next |= write_phase;
    } while (!readers_.compare_exchange_weak(found, next, platform::release));
    if ((next & write_phase) != 0) change_phase(1);
  }

  bool try_lock_shared() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    while ((found & (write_phase | write_locked)) != (write_phase | write_locked)) {
      const std::uint32_t next = (found + one_reader) & ~write_phase;
      if (!readers_.compare_exchange_weak(found, next, platform::acquire)) continue;
      if ((found & write_phase) != 0) change_phase(0);
      return true;
    }
    return false;
  }

  void lock() noexcept {
    check_owner();
    // One writer at a time is the primary one.
    bool has_waited = false;
    std::uint32_t found = readers_.fetch_or(write_locked, platform::acquire);
    while ((found & write_locked) != 0) {
      has_waited |= await_primary_writer();
      Behaviour::pause();
      found = readers_.load(platform::relaxed);
      while ((found & write_locked) == 0 &&
             !readers_.compare_exchange_weak(found, found | write_locked, platform::acquire)) {
      }
    }
    // Others may have said that they sleep.
    sleeping_.store(has_waited ? 1 | is_slept_on : 1, platform::relaxed);
    if ((found & write_phase) == 0) begin_write_phase(found);
    owner_.store(1, platform::relaxed);
  }

  bool try_lock() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    if ((found & write_locked) != 0 || found / one_reader != 0) return false;
    if (!readers_.compare_exchange_strong(found, found | write_locked | write_phase,
                                          platform::acquire)) {
      return false;
    }
    sleeping_.store(1, platform::relaxed);
    phase_.store(1, platform::relaxed);
    owner_.store(1, platform::relaxed);
    return true;
  }

  void unlock() noexcept {
    check_owner();
    owner_.store(0, platform::relaxed);
    const bool writers_sleep = (sleeping_.exchange(0, platform::relaxed) & is_slept_on) != 0;
    std::uint32_t found = readers_.load(platform::relaxed);
    std::uint32_t next = 0;
    do {
      next = found & ~write_locked;
      // Readers that have come meanwhile are inside now.
      if (next / one_reader != 0) next &= ~write_phase;
    } while (!readers_.compare_exchange_weak(found, next, platform::release));
    if (next / one_reader != 0) change_phase(0);
    if (writers_sleep) platform::futex_wake(platform::futex_of(sleeping_), 1, ~0U);
  }

 private:
  static constexpr std::uint32_t write_phase = 1;
  static constexpr std::uint32_t write_locked = 2;
  static constexpr std::uint32_t one_reader = 8;
  static constexpr std::uint32_t is_slept_on = 2;  // of a futex

  // glibc's functions look whether the caller is the writer.
  void check_owner() const noexcept { owner_.load(platform::relaxed); }

  void change_phase(std::uint32_t to) noexcept {
    if ((phase_.exchange(to, platform::relaxed) & is_slept_on) != 0) {
      platform::futex_wake(platform::futex_of(phase_), INT32_MAX, ~0U);
    }
  }
  // For the primary writer. If a reader is inside, or was and hands over, it says so in phase_.
  void begin_write_phase(std::uint32_t found) noexcept {
    while ((found & write_phase) == 0 && found / one_reader == 0) {
      if (readers_.compare_exchange_weak(found, found | write_phase, platform::acquire)) {
        phase_.store(1, platform::relaxed);
        return;
      }
    }
    await_phase(1);
  }
  // Sleeps until phase_ is `wanted`.
  void await_phase(std::uint32_t wanted) noexcept {
    const std::uint32_t other = 1 - wanted;
    bool is_here = false;
    while (true) {
      for (std::uint32_t phase = 0;
           ((phase = phase_.load(platform::relaxed)) | is_slept_on) == (other | is_slept_on);) {
        if ((phase & is_slept_on) == 0 &&
            !phase_.compare_exchange_weak(phase, phase | is_slept_on, platform::relaxed)) {
          continue;
        }
        platform::futex_wait(platform::futex_of(phase_), other | is_slept_on, ~0U, nullptr);
      }
      if (is_here) return;
      Behaviour::pause();
      // Once more, in case phase_ is about to change.
      is_here = (readers_.load(platform::acquire) & write_phase) == wanted;
    }
  }
  // Returns whether the thread may have slept.
  bool await_primary_writer() noexcept {
    std::uint32_t found = sleeping_.load(platform::relaxed);
    if ((found & ~is_slept_on) != 1) return false;  // the writer is about to say so, or leaves
    if (found == 1 && !sleeping_.compare_exchange_weak(found, 1 | is_slept_on, platform::relaxed)) {
      return false;
    }
    platform::futex_wait(platform::futex_of(sleeping_), 1 | is_slept_on, ~0U, nullptr);
    return true;
  }

  platform::atomic<std::uint32_t> readers_{};   // their number and the bits above
  platform::atomic<std::uint32_t> phase_{};     // futex: 1 in a writer phase
  platform::atomic<std::uint32_t> sleeping_{};  // futex: 1 while there is a primary writer
  platform::atomic<std::uint32_t> owner_{};
};

using glibc_like_rwlock = basic_glibc_like_rwlock<as_glibc>;

}  // namespace readmost::simulation
