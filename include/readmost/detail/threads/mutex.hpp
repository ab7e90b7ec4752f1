// SPDX-License-Identifier: Apache-2.0
// The library's mutex: 4 bytes, neither recursive nor fair. It spins briefly, then sleeps on a
// futex. Used instead of std::mutex, which may throw and which the checker cannot simulate.
//
// A thread that waits here reports to rounds while it spins and goes offline before it sleeps, so
// no writer of a lock and no grace period waits for it.
#pragma once

#include <readmost/detail/threads/spinning.hpp>

namespace readmost::detail {

class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  bool try_lock() noexcept {
    std::uint32_t expected = free;
    // (BR19) Pairs with (BR20): sees everything the last owner did while it held the mutex.
    return word_.compare_exchange_strong(expected, taken, at(letter::BR19, platform::acquire),
                                         platform::relaxed);
  }

  void lock() noexcept {
    lock_unless([] { return false; }, nullptr);
  }

  // Locks, unless gives_up() returns true; it is called before each sleep. A sleep takes at most
  // `slice` nanoseconds, or any length of time if that is null. Returns whether the mutex is held.
  template <class GivesUp>
  bool lock_unless(GivesUp gives_up, const std::uint64_t* slice) noexcept {
    return try_lock() || lock_slowly(gives_up, slice);
  }

  // Precondition: the calling thread holds the mutex.
  void unlock() noexcept {
    if (word_.exchange(free, at(letter::BR20, platform::release)) == contended) {
      platform::futex_wake(platform::futex_of(word_), 1, ~0U);
    }
  }

 private:
  template <class GivesUp>
  [[gnu::noinline]] bool lock_slowly(GivesUp gives_up, const std::uint64_t* slice) noexcept {
    if (spin_up_to(spins, [&] { return word_.load(platform::relaxed) == free && try_lock(); })) {
      return true;
    }
    go_offline();
    while (word_.exchange(contended, at(letter::BR19, platform::acquire)) != free) {
      if (gives_up()) return false;
      if (slice == nullptr) {
        platform::futex_wait(platform::futex_of(word_), contended, ~0U, nullptr);
      } else {
        const platform::deadline until = platform::in(*slice);
        platform::futex_wait(platform::futex_of(word_), contended, ~0U, &until);
      }
    }
    return true;
  }

  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t contended = 2;  // taken, and a thread may be asleep
  static constexpr std::uint32_t spins = 100;

  platform::atomic<std::uint32_t> word_{free};
};

}  // namespace readmost::detail
