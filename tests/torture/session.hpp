// SPDX-License-Identifier: Apache-2.0
// One run of one scenario: its threads, their counters, the clock that switches phases, and the
// watchdog that turns a hang into a message and exit status 2.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "random.hpp"

namespace torture {

enum exit_status : int { passed = 0, violated = 1, hung = 2 };

struct options {
  unsigned threads = 4;
  double seconds = 0.9;
  double stall = 20;
  std::uint64_t seed = 1;
  bool stop_at_violation = false;
};

using milliseconds = std::chrono::duration<double, std::milli>;

class session;

// The counters and random numbers of one thread. Only that thread changes them; the watchdog reads
// them.
class alignas(128) worker {
 public:
  worker(session& owner, unsigned index, std::uint64_t seed)
      : random(seed), index_(index), session_(owner) {}

  void about_to_read();
  void reading();
  void done_reading() {
    add_one(reads_);
    activity_.store(activity::elsewhere, std::memory_order_relaxed);
  }

  void about_to_write() {
    activity_.store(activity::waiting_to_write, std::memory_order_relaxed);
    wait_began_ = std::chrono::steady_clock::now();
  }
  void writing() {
    activity_.store(activity::holding, std::memory_order_relaxed);
    keep_longest(longest_write_wait_, std::chrono::steady_clock::now() - wait_began_);
  }
  void done_writing() {
    add_one(writes_);
    activity_.store(activity::elsewhere, std::memory_order_relaxed);
  }

  // Progress that is neither a read nor a write: a failed try, an expired deadline.
  void done_trying() {
    add_one(tries_);
    activity_.store(activity::elsewhere, std::memory_order_relaxed);
  }

  void violation(const char* what);

  unsigned index() const { return index_; }

  random_source random;

 private:
  friend class session;
  enum class activity : unsigned char { elsewhere, waiting_to_read, waiting_to_write, holding };

  // A plain increment: a signal handler that interrupts it may make it lose a count, which is
  // harmless.
  static void add_one(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static void keep_longest(milliseconds& longest, milliseconds wait) {
    if (wait > longest) longest = wait;
  }

  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> writes_{0};
  std::atomic<std::uint64_t> tries_{0};
  std::atomic<activity> activity_{activity::elsewhere};
  milliseconds longest_read_wait_{0};
  milliseconds longest_write_wait_{0};
  std::chrono::steady_clock::time_point wait_began_;
  std::uint32_t tick_before_read_ = 0;
  unsigned index_;
  session& session_;
};

class session {
 public:
  session(std::string name, const options& chosen);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  unsigned threads() const { return options_.threads; }
  const options& chosen() const { return options_; }

  // False when the scenario's threads should stop.
  bool running() const { return running_.load(std::memory_order_relaxed); }

  // True in the phases of 1 to 5 ms without writes, in which a lock that enables its readers' fast
  // path only after many reads does enable it.
  bool read_only() const { return read_only_.load(std::memory_order_relaxed); }

  // Counts half milliseconds. Reading it does not order surrounding reads, as a clock call may.
  std::uint32_t tick() const { return tick_.load(std::memory_order_relaxed); }
  static constexpr milliseconds tick_length{0.5};

  // Called by the scenario's main thread only.
  void spawn(std::function<void(worker&)> work);
  void join();
  // Starts `count` threads that repeat the action until they should stop.
  template <class Action>
  void repeat(unsigned count, Action action) {
    for (; count > 0; --count) {
      spawn([this, action](worker& me) {
        while (running()) action(me);
      });
    }
  }
  // The number of threads left for repeat() when `others` threads do something else.
  unsigned threads_but(unsigned others) const {
    return threads() > others ? threads() - others : 0;
  }

  void violation(const char* what, const char* where);

  std::uint64_t violations() const { return violations_.load(); }

  // The longest wait of all threads; valid after they have ended.
  milliseconds longest_read_wait() const { return longest(&worker::longest_read_wait_); }
  milliseconds longest_write_wait() const { return longest(&worker::longest_write_wait_); }

  // Prints the summary line.
  exit_status report() const;

 private:
  void monitor();
  std::uint64_t progress() const;
  milliseconds longest(milliseconds worker::* of_one) const;
  [[noreturn]] void give_up() const;

  std::string name_;
  options options_;
  alignas(64) std::atomic<bool> running_{true};
  std::atomic<bool> read_only_{true};
  alignas(64) std::atomic<std::uint32_t> tick_{0};
  alignas(64) std::atomic<std::uint64_t> violations_{0};
  std::atomic<bool> finished_{false};
  std::atomic<std::size_t> published_workers_{0};
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;
  std::thread monitor_;
};

inline void worker::about_to_read() {
  activity_.store(activity::waiting_to_read, std::memory_order_relaxed);
  tick_before_read_ = session_.tick();
}

inline void worker::reading() {
  activity_.store(activity::holding, std::memory_order_relaxed);
  const std::uint32_t ticks = session_.tick() - tick_before_read_;
  if (ticks != 0) keep_longest(longest_read_wait_, ticks * session::tick_length);
}

}  // namespace torture
