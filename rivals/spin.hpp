// How the rivals wait: they spin for about a microsecond, then give up the CPU between two looks,
// since there may be more threads than CPUs. The papers' locks spin throughout, or run where nobody
// can be preempted.
#pragma once

#include <cstdint>
#include <readmost/detail/platform/platform.hpp>

namespace rivals {

namespace platform = readmost::detail::platform;

// The wait of one operation.
class spin {
 public:
  // Between two looks at what is waited for.
  void wait() noexcept {
    if (spent_ >= platform::turns(most)) {
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

// Returns as soon as `holds()` does.
template <class Condition>
void wait_until(Condition holds) noexcept {
  for (spin waiting; !holds();) waiting.wait();
}

// A mutex of one word that is looked at before it is written (test and test-and-set). No fairness.
// All zeros: free.
class spin_mutex {
 public:
  constexpr spin_mutex() noexcept = default;
  spin_mutex(const spin_mutex&) = delete;
  spin_mutex& operator=(const spin_mutex&) = delete;

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

// For the length of a block.
template <class Mutex>
class holding {
 public:
  explicit holding(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  ~holding() { mutex_.unlock(); }
  holding(const holding&) = delete;
  holding& operator=(const holding&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace rivals
