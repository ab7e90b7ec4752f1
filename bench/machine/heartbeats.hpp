// SPDX-License-Identifier: Apache-2.0
// How threads show that they run: other threads may occupy their CPUs.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <utility>

namespace bench {

class heartbeats {
 public:
  class pulse {
   public:
    void beat() {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

   private:
    friend class heartbeats;
    alignas(64) std::atomic<std::uint64_t> count_{0};
    std::uint64_t seen_ = 0;
  };

  pulse& add() { return all_.emplace_back(); }
  // Whether each thread has beaten since the last call.
  bool all_alive() {
    bool all = true;
    for (pulse& one : all_) {
      const std::uint64_t now = one.count_.load(std::memory_order_relaxed);
      if (std::exchange(one.seen_, now) == now) all = false;
    }
    return all;
  }

 private:
  std::list<pulse> all_;
};

}  // namespace bench
