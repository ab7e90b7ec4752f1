// SPDX-License-Identifier: Apache-2.0
// Threads that do the same thing without a pause and publish their progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <readmost/detail/platform/platform.hpp>
#include <thread>
#include <vector>

namespace bench {

// From 1 to twice the number of CPUs, which is included: all numbers on few CPUs, else powers of
// two.
inline std::vector<unsigned> thread_counts() {
  const unsigned cpus = readmost::detail::platform::usable_cpus();
  std::vector<unsigned> counts;
  for (unsigned i = 1; i <= 2 * cpus; i = cpus <= 4 ? i + 1 : 2 * i) {
    if (!counts.empty() && counts.back() < cpus && i > cpus) counts.push_back(cpus);
    counts.push_back(i);
  }
  if (counts.back() != 2 * cpus) counts.push_back(2 * cpus);
  return counts;
}

// Registers the calling thread with the libraries it uses, for the lifetime of the object.
template <class Used>
class user_of {
 public:
  explicit user_of(Used& used) : used_(used) { used_.begin_thread(); }
  ~user_of() { used_.end_thread(); }
  user_of(const user_of&) = delete;
  user_of& operator=(const user_of&) = delete;

 private:
  Used& used_;
};

// Each thread calls work(stopped, number, done) once, which works until it is stopped and stores in
// `done` how much it has done so far. They work from construction, which returns when each has done
// `first`, to destruction.
class workers {
 public:
  template <class Work>
  workers(unsigned count, Work work, std::uint64_t first = 1) {
    for (unsigned i = 0; i < count; ++i) {
      counter& done = done_.emplace_back();
      threads_.emplace_back([this, work, i, &done] { work(stopped_, i, done.count); });
    }
    wait_for(first);
  }
  ~workers() {
    stopped_ = true;
    threads_.clear();
  }

  // Returns once each has done so much more, so that each has had a CPU.
  void wait_for(std::uint64_t more) const {
    for (const counter& each : done_) {
      const std::uint64_t before = each.count.load(std::memory_order_relaxed);
      while (each.count.load(std::memory_order_relaxed) - before < more) std::this_thread::yield();
    }
  }
  std::uint64_t done() const {
    std::uint64_t sum = 0;
    for (const counter& each : done_) sum += each.count.load(std::memory_order_relaxed);
    return sum;
  }
  // The rate of all threads during that time from now.
  double per_second(std::chrono::nanoseconds time) const {
    using clock = std::chrono::steady_clock;
    const std::uint64_t before = done();
    const auto begin = clock::now();
    std::this_thread::sleep_for(time);
    const std::uint64_t after = done();
    const std::chrono::duration<double> lasted = clock::now() - begin;
    return static_cast<double>(after - before) / lasted.count();
  }

 private:
  struct alignas(64) counter {
    std::atomic<std::uint64_t> count{0};
  };

  std::atomic<bool> stopped_{false};
  std::list<counter> done_;
  std::vector<std::jthread> threads_;
};

}  // namespace bench
