// A lock of the shape of glibc's pthread_rwlock_t, for the seam to the platform: readers add
// themselves to one word by a read-modify-write and take themselves off by another, writers close
// that word, and phases of readers and writers alternate (nptl/pthread_rwlock_common.c, glibc 2.25
// and later; under its default kind, which prefers readers).
//
// What it shares with the original is which lines are touched by which operations in which order,
// and who sleeps on what. It has no timeouts, errors, kinds or process-shared form.
#pragma once

#include <cstdint>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::simulation {

namespace platform = detail::platform;

class glibc_like_rwlock {
 public:
  void lock_shared() noexcept {
    std::uint32_t found = readers_.fetch_add(one_reader, platform::acquire) + one_reader;
    // In a reader phase the reader is inside. If a writer phase has been left, it begins a reader
    // phase for all.
    while ((found & write_phase) != 0 && (found & write_locked) == 0) {
      if (readers_.compare_exchange_weak(found, found ^ write_phase, platform::acquire)) {
        phase_.store(0, platform::relaxed);
        platform::futex_wake(platform::futex_of(phase_), INT32_MAX, ~0U);
        return;
      }
    }
    while ((readers_.load(platform::acquire) & write_phase) != 0) {
      const std::uint32_t phase = phase_.load(platform::relaxed);
      if (phase == 0) {
        platform::relax();
        continue;
      }
      platform::futex_wait(platform::futex_of(phase_), phase, ~0U, nullptr);
    }
  }

  void unlock_shared() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    std::uint32_t next = 0;
    do {
      next = found - one_reader;
      // The last reader hands over to the writer that waits.
      if (next / one_reader == 0 && (next & write_locked) != 0) next |= write_phase;
    } while (!readers_.compare_exchange_weak(found, next, platform::release));
    if ((next & write_phase) != 0) {
      phase_.store(1, platform::release);
      platform::futex_wake(platform::futex_of(phase_), INT32_MAX, ~0U);
    }
  }

  bool try_lock_shared() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    while ((found & (write_phase | write_locked)) != (write_phase | write_locked)) {
      const std::uint32_t next = (found + one_reader) & ~write_phase;
      if (!readers_.compare_exchange_weak(found, next, platform::acquire)) continue;
      if ((found & write_phase) != 0) {
        phase_.store(0, platform::relaxed);
        platform::futex_wake(platform::futex_of(phase_), INT32_MAX, ~0U);
      }
      return true;
    }
    return false;
  }

  void lock() noexcept {
    // One writer at a time is the primary one.
    while ((readers_.fetch_or(write_locked, platform::acquire) & write_locked) != 0) {
      writers_.fetch_add(1, platform::relaxed);
      sleeping_.exchange(1, platform::acquire);
      if ((readers_.load(platform::relaxed) & write_locked) != 0) {
        platform::futex_wait(platform::futex_of(sleeping_), 1, ~0U, nullptr);
      }
      writers_.fetch_sub(1, platform::relaxed);
    }
    std::uint32_t found = readers_.load(platform::acquire);
    while ((found & write_phase) == 0) {
      if (found / one_reader == 0) {
        if (readers_.compare_exchange_weak(found, found | write_phase, platform::acquire)) {
          phase_.store(1, platform::release);
          return;
        }
        continue;
      }
      platform::futex_wait(platform::futex_of(phase_), 0, ~0U, nullptr);
      found = readers_.load(platform::acquire);
    }
  }

  bool try_lock() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    if ((found & write_locked) != 0 || found / one_reader != 0) return false;
    if (!readers_.compare_exchange_strong(found, found | write_locked | write_phase,
                                          platform::acquire)) {
      return false;
    }
    phase_.store(1, platform::release);
    return true;
  }

  void unlock() noexcept {
    std::uint32_t found = readers_.load(platform::relaxed);
    std::uint32_t next = 0;
    do {
      next = found & ~write_locked;
      // Readers that have come meanwhile are inside now.
      if (next / one_reader != 0) next &= ~write_phase;
    } while (!readers_.compare_exchange_weak(found, next, platform::release));
    if (next / one_reader != 0) {
      phase_.store(0, platform::release);
      platform::futex_wake(platform::futex_of(phase_), INT32_MAX, ~0U);
    }
    if (writers_.load(platform::relaxed) != 0) {
      sleeping_.store(0, platform::release);
      platform::futex_wake(platform::futex_of(sleeping_), 1, ~0U);
    }
  }

 private:
  static constexpr std::uint32_t write_phase = 1;
  static constexpr std::uint32_t write_locked = 2;
  static constexpr std::uint32_t one_reader = 8;

  platform::atomic<std::uint32_t> readers_{};   // their number and the bits above
  platform::atomic<std::uint32_t> writers_{};   // those that wait to be the primary one
  platform::atomic<std::uint32_t> phase_{};     // futex: 1 in a writer phase
  platform::atomic<std::uint32_t> sleeping_{};  // futex of those
};

}  // namespace readmost::simulation
