// Impose Level Of Indirection (RCU 4.2.3): a client with a history of 16 KiB and three limits,
// which are changed together. To copy the client for each change would be expensive.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/rcu_pointer.hpp>
#include <shared_mutex>

#include "form.hpp"

namespace examples::limits {

// What is tested of a client's request.
inline void admit(std::uint64_t soft, std::uint64_t hard, std::uint64_t burst) {
  require(hard == soft + burst, "a reader saw limits that do not belong together");
}

// The limits are where they have been needed first.
class before {
 public:
  void read(xorshift&) {
    const std::shared_lock guard{mutex_};
    admit(soft_, hard_, burst_);
  }

  void write(xorshift& random) {
    const std::uint64_t soft = any_of(1024, random);
    const std::uint64_t burst = any_of(1024, random);
    const std::unique_lock guard{mutex_};
    soft_ = soft;
    hard_ = soft + burst;
    burst_ = burst;
  }

  void check(std::uint64_t, std::uint64_t) { admit(soft_, hard_, burst_); }

 private:
  std::shared_mutex mutex_;
  std::uint64_t soft_ = 0;
  std::array<std::uint64_t, 1024> requests_{};
  std::uint64_t hard_ = 0;
  std::array<std::uint64_t, 1024> answers_{};
  std::uint64_t burst_ = 0;
};

// They are gathered in a structure behind a pointer.
class after {
 public:
  void read(xorshift&) {
    const readmost::rcu_reader section;
    const limits& now = *limits_.load();
    admit(now.soft, now.hard, now.burst);
  }

  void write(xorshift& random) {
    const std::uint64_t soft = any_of(1024, random);
    const std::uint64_t burst = any_of(1024, random);
    limits_.assign(std::make_unique<limits>(soft, burst));
  }

  void check(std::uint64_t, std::uint64_t) {
    const readmost::rcu_reader section;
    admit(limits_.load()->soft, limits_.load()->hard, limits_.load()->burst);
  }

 private:
  struct limits : readmost::rcu_obj_base<limits> {
    limits(std::uint64_t soft, std::uint64_t burst)
        : soft(soft), hard(soft + burst), burst(burst) {}
    std::uint64_t soft;
    std::uint64_t hard;
    std::uint64_t burst;
  };

  readmost::rcu_pointer<const limits> limits_{std::make_unique<limits>(0, 0)};
  std::array<std::uint64_t, 1024> requests_{};
  std::array<std::uint64_t, 1024> answers_{};
};

}  // namespace examples::limits
