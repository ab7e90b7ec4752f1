// SPDX-License-Identifier: Apache-2.0
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

using history = std::array<std::uint64_t, 1024>;

// The limits are where they have been needed first.
class before {
 public:
  void read(xorshift&) {
    const std::shared_lock guard{mutex_};
    admit(client_.soft, client_.hard, client_.burst);
  }

  void write(xorshift& random) {
    const std::uint64_t soft = any_of(1024, random);
    const std::uint64_t burst = any_of(1024, random);
    const std::unique_lock guard{mutex_};
    client_.soft = soft;
    client_.hard = soft + burst;
    client_.burst = burst;
  }

  void check(std::uint64_t, std::uint64_t) { admit(client_.soft, client_.hard, client_.burst); }

 private:
  struct client {
    std::uint64_t soft = 0;
    history requests{};
    std::uint64_t hard = 0;
    history answers{};
    std::uint64_t burst = 0;
  };

  std::shared_mutex mutex_;
  client client_;
};

// They are gathered in a structure behind a pointer.
class after {
 public:
  void read(xorshift&) {
    const readmost::rcu_reader section;
    const limits& now = *client_.present.load();
    admit(now.soft, now.hard, now.burst);
  }

  void write(xorshift& random) {
    const std::uint64_t soft = any_of(1024, random);
    const std::uint64_t burst = any_of(1024, random);
    client_.present.assign(std::make_unique<limits>(soft, burst));
  }

  void check(std::uint64_t, std::uint64_t) {
    xorshift random{0};
    read(random);
  }

 private:
  struct limits : readmost::rcu_obj_base<limits> {
    limits(std::uint64_t soft_limit, std::uint64_t burst_limit)
        : soft(soft_limit), hard(soft_limit + burst_limit), burst(burst_limit) {}
    std::uint64_t soft;
    std::uint64_t hard;
    std::uint64_t burst;
  };
  struct client {
    readmost::rcu_pointer<const limits> present{std::make_unique<limits>(0, 0)};
    history requests{};
    history answers{};
  };

  client client_;
};

}  // namespace examples::limits
