// SPDX-License-Identifier: Apache-2.0
// A lock of the shape of glibc's pthread_mutex_t, of the default kind, for the seam to the platform
// (nptl/pthread_mutex_lock.c, lowlevellock.c): one compare-and-swap takes it, one exchange gives it
// back, whoever finds it taken sleeps at once. Readers keep one another out.
#pragma once

#include <cstdint>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::simulation {

namespace platform = detail::platform;

class glibc_like_mutex {
 public:
  void lock() noexcept {
    std::uint32_t found = free;
    if (!state_.compare_exchange_strong(found, taken, platform::acquire, platform::relaxed)) {
      // As the original does, it looks before it says that it sleeps.
      if (state_.load(platform::relaxed) == slept_on) sleep();
      while (state_.exchange(slept_on, platform::acquire) != free) sleep();
    }
    owner_.store(1, platform::relaxed);
    users_.store(users_.load(platform::relaxed) + 1, platform::relaxed);
  }
  void unlock() noexcept {
    owner_.store(0, platform::relaxed);
    users_.store(users_.load(platform::relaxed) - 1, platform::relaxed);
    if (state_.exchange(free, platform::release) == slept_on) {
      platform::futex_wake(platform::futex_of(state_), 1, ~0U);
    }
  }
  void lock_shared() noexcept { lock(); }
  void unlock_shared() noexcept { unlock(); }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t slept_on = 2;

  void sleep() noexcept {
    platform::futex_wait(platform::futex_of(state_), slept_on, ~0U, nullptr);
  }

  platform::atomic<std::uint32_t> state_{free};
  platform::atomic<std::uint32_t> owner_{};
  platform::atomic<std::uint32_t> users_{};
};

}  // namespace readmost::simulation
