// SPDX-License-Identifier: Apache-2.0
// How the rivals wait: they spin for about a microsecond, then yield the CPU between two checks,
// since there may be more threads than CPUs. The papers' locks spin throughout, or run where
// threads cannot be preempted.
#pragma once

#include <cstdint>
#include <readmost/detail/platform/platform.hpp>

namespace rivals {

namespace platform = readmost::detail::platform;

// The base of objects that can be neither copied nor moved. A template, so that a lock and its
// first member may both have it at one address.
template <class>
struct immovable {
  constexpr immovable() noexcept = default;
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
};

// The wait of one operation.
class spin {
 public:
  // Called between two checks of the condition.
  void wait() noexcept {
    if (spent_ >= platform::spins(most)) {
      platform::yield();
      return;
    }
    for (std::uint32_t i = 0; i < pause_; ++i) platform::relax();
    spent_ += pause_;
    if (pause_ < longest) pause_ *= 2;
  }

 private:
  // In pauses of the processor, some 20 ns each.
  static constexpr std::uint32_t most = 64;
  static constexpr std::uint32_t longest = 16;

  std::uint32_t spent_ = 0;
  std::uint32_t pause_ = 1;
};

// Returns as soon as `holds()` is true.
template <class Condition>
void wait_until(Condition holds) noexcept {
  for (spin waiting; !holds();) waiting.wait();
}

// Tries until it succeeds; after a failure it waits before the next check, and tries again only
// when the lock is available.
template <class Try, class Obstacle>
void retry(Try try_once, Obstacle is_in_the_way) noexcept {
  for (spin waiting; !try_once();) {
    do {
      waiting.wait();
    } while (is_in_the_way());
  }
}

// A test and test-and-set mutex, without fairness. Zero: free.
class spin_mutex : immovable<spin_mutex> {
 public:
  bool try_lock() noexcept {
    return taken_.load(platform::relaxed) == 0 && taken_.exchange(1, platform::acquire) == 0;
  }
  void lock() noexcept {
    wait_until([this] { return try_lock(); });
  }
  void unlock() noexcept { taken_.store(0, platform::release); }
  bool is_locked() const noexcept { return taken_.load(platform::relaxed) != 0; }

 private:
  platform::atomic<std::uint32_t> taken_{0};
};

// Holds a mutex for a block.
template <class Mutex>
class holding : immovable<holding<Mutex>> {
 public:
  explicit holding(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  ~holding() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace rivals
