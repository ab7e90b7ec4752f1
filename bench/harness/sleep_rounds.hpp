// SPDX-License-Identifier: Apache-2.0
// Rounds in which threads do something and then fall asleep, all at once, while another measures.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace bench {

class sleep_rounds {
 public:
  using clock = std::chrono::steady_clock;

  explicit sleep_rounds(std::size_t threads)
      : phase_(static_cast<std::ptrdiff_t>(threads) + 1), left_(threads) {}

  // For each of the threads: waits for the next round; false when there is none.
  bool begin() {
    phase_.arrive_and_wait();
    return !over_;
  }
  // For the thread with that number: falls asleep with the others, and notes when it woke up.
  void sleep(std::size_t thread) {
    phase_.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    left_[thread].store(clock::now(), std::memory_order_relaxed);
  }

  // Begins a round; returns when all threads are about to sleep. The round before must be over.
  void fall_asleep() {
    phase_.arrive_and_wait();
    phase_.arrive_and_wait();
  }
  // The time at which the last thread woke up. Must be called after the wait for that thread.
  clock::time_point last_left() const {
    clock::time_point last;
    for (const auto& left : left_) last = std::max(last, left.load(std::memory_order_relaxed));
    return last;
  }
  void end() {
    over_ = true;
    phase_.arrive_and_wait();
  }

 private:
  std::barrier<> phase_;
  bool over_ = false;
  // Atomic because a broken contender may not wait for the sleepers.
  std::vector<std::atomic<clock::time_point>> left_;
};

}  // namespace bench
