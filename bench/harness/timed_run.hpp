// SPDX-License-Identifier: Apache-2.0
// Threads that work at the same time until they are stopped.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

// The work of one thread until `stopped`; returns how often it did it.
using timed_body = std::function<std::uint64_t(const std::atomic<bool>& stopped)>;

struct timed_outcome {
  std::vector<std::uint64_t> counts;  // by thread
  double seconds = 0;

  // Of the threads from `first` to before `last`.
  std::uint64_t sum(std::size_t first, std::size_t last) const;
  std::uint64_t total() const { return sum(0, counts.size()); }
  double per_second(std::uint64_t count) const { return static_cast<double>(count) / seconds; }
};

// A thread for each body, from construction to stop(); all begin together.
class working_threads {
 public:
  explicit working_threads(std::vector<timed_body> bodies);
  ~working_threads() { end(); }
  working_threads(const working_threads&) = delete;
  working_threads& operator=(const working_threads&) = delete;

  // Returns after that time, or as soon as a body has thrown.
  void work_for(std::chrono::nanoseconds time);

  // Stops and joins the threads. Rethrows the first exception of a body.
  timed_outcome stop();

 private:
  using clock = std::chrono::steady_clock;

  void work(std::size_t thread);
  void end();

  // Polled by every loop, hence on a line without anything that changes meanwhile.
  alignas(128) std::atomic<bool> stopped_{false};
  alignas(128) std::vector<timed_body> bodies_;
  timed_outcome outcome_;
  std::latch ready_;
  std::mutex failure_mutex_;
  std::condition_variable failed_;
  std::exception_ptr failure_;
  clock::time_point begin_;
  std::vector<std::jthread> threads_;
};

// Runs the bodies for that time.
timed_outcome run_together(std::vector<timed_body> bodies, std::chrono::nanoseconds time);

}  // namespace bench
