// SPDX-License-Identifier: Apache-2.0
// Timing of operations that take nanoseconds, alone and while other threads run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <readmost/detail/platform/platform.hpp>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace readmost::command {

namespace platform = detail::platform;

struct effort {
  int samples;
  std::chrono::nanoseconds each;  // the approximate duration of a sample
};

// Pins the calling thread to a CPU while this exists, if the system allows it.
class stay_on {
 public:
  explicit stay_on(int cpu);
  ~stay_on();
  stay_on(const stay_on&) = delete;
  stay_on& operator=(const stay_on&) = delete;

  explicit operator bool() const { return pinned_; }

 private:
  std::vector<int> before_;
  bool pinned_ = false;
};

// The work of a thread; returns soon after a stop request.
using work = std::function<void(std::stop_token)>;

// Threads that do the same work, each on a CPU of its own, while this exists. All of them run when
// the constructor returns. Throws std::system_error when a thread cannot be started.
class company {
 public:
  company(const std::vector<int>& cpus, const work& each);

  // Whether each thread is on its CPU.
  bool pinned() const { return pinned_; }

  // The CPU-time clock of each thread.
  std::vector<clockid_t> clocks();

 private:
  std::atomic<bool> pinned_{true};
  std::atomic<std::size_t> ready_{0};
  std::vector<std::jthread> threads_;
};

// Tells whether threads ran without interruption.
class attendance {
 public:
  // Watches the calling thread and those with these CPU-time clocks.
  explicit attendance(std::vector<clockid_t> others);

  // Begins a new period.
  void start();

  // Whether all threads have had about this much CPU time since start().
  bool was_full(std::uint64_t nanoseconds) const;

 private:
  std::vector<clockid_t> clocks_;
  std::vector<std::uint64_t> started_;
};

// Calls an operation so often; returns how many nanoseconds that took, at least one.
using timed_batch = std::function<std::uint64_t(std::uint64_t count)>;

// As time_of().
std::vector<double> time_of_batches(const effort& much, const timed_batch& batch,
                                    std::vector<clockid_t> others);

// Nanoseconds per call of the operation, one value for each sample. Repeats samples during which
// other work took a CPU from one of the threads; returns such samples if there are no others.
template <class Operation>
std::vector<double> time_of(const effort& much, Operation operation,
                            std::vector<clockid_t> others = {}) {
  const auto batch = [&](std::uint64_t count) {
    const std::uint64_t start = platform::now();
    for (std::uint64_t i = 0; i < count; ++i) operation();
    return std::max<std::uint64_t>(platform::now() - start, 1);
  };
  return time_of_batches(much, batch, std::move(others));
}

}  // namespace readmost::command
