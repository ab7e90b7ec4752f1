// SPDX-License-Identifier: Apache-2.0
// Operations on semaphores that are found by number in an array (RCU 5.1 and Table 7).
#include <fmt/core.h>

#include <mutex>
#include <stdexcept>
#include <thread>

#include "contenders/rcu/semaphores.hpp"
#include "harness/benchmark.hpp"
#include "harness/workers.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Operations per second on 64 semaphores by threads that use random ones without a pause: look "
    "up the number in an array, lock the semaphore, count it up, unlock (the paper's semopbench, "
    "RCU Table 7, in a program instead of a kernel). By number of threads; at rest, and while one "
    "more thread creates and removes 64 others without a pause, for which the array is replaced by "
    "a longer one and back. `readmost::id_table` is the library's table, whose ids are never given "
    "out twice. `global-lock` is one spinlock around everything, as in Linux 2.4; all others have "
    "a "
    "spinlock in each semaphore, and RCU or a reader-writer lock for an array written out here. "
    "Semaphores whose counts differ from the number of operations are an error.";

constexpr std::size_t lasting = 64;
constexpr std::size_t passing = 64;

class measurement {
 public:
  measurement(const bench::semaphore_set_maker& maker, std::chrono::nanoseconds time,
              bench::figures& found)
      : time_(time), found_(found), set_(maker.make()) {
    for (std::size_t i = 0; i < lasting; ++i) {
      if (set_->create() != i) throw std::runtime_error("a free number was not given out");
    }
  }

  void at_rest(unsigned threads) {
    found_.point("Semaphore operations", threads, "more", "operations per second",
                 operations(threads, lasting));
  }

  void while_others_pass(unsigned threads) {
    std::atomic<bool> over{false};
    std::uint64_t changes = 0;
    const auto begin = std::chrono::steady_clock::now();
    std::thread changing([&] {
      while (!over.load(std::memory_order_relaxed)) changes += pass();
    });
    const double per_second = operations(threads, lasting + passing);
    over = true;
    changing.join();
    const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - begin;
    found_.point("Semaphore operations while others come and go", threads, "more",
                 "operations per second", per_second);
    found_.point("Semaphores created and removed meanwhile", threads, "more", "per second",
                 static_cast<double>(changes) / lasted.count());
  }

  void check() {
    std::uint64_t counted = passed_;
    for (std::size_t i = 0; i < lasting; ++i) counted += set_->remove(i);
    set_->settle();
    if (counted != done_) {
      throw std::runtime_error(
          fmt::format("semaphores were counted up {} times, not {}", counted, done_));
    }
  }

 private:
  double operations(unsigned threads, std::size_t numbers) {
    std::mutex adding;
    double per_second = 0;
    std::uint64_t missing = 0;
    {
      const bench::workers working(threads, [&](const std::atomic<bool>& stopped, unsigned number,
                                                std::atomic<std::uint64_t>& done) {
        const bench::semaphore_result result = set_->use(stopped, number, numbers, done);
        const std::lock_guard guard(adding);
        done_ += result.operations;
        missing += result.missing;
      });
      per_second = working.per_second(time_);
    }
    if (numbers == lasting && missing != 0) throw std::runtime_error("a semaphore was not found");
    return per_second;
  }

  // Creates and removes semaphores; returns their number.
  std::uint64_t pass() {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < passing; ++i) numbers.push_back(set_->create());
    for (const std::size_t number : numbers) passed_ += set_->remove(number);
    set_->trim();
    return passing;
  }

  std::chrono::nanoseconds time_;
  bench::figures& found_;
  std::unique_ptr<bench::semaphore_set> set_;
  std::uint64_t done_ = 0;
  std::uint64_t passed_ = 0;  // operations on removed semaphores
};

void measure(const bench::semaphore_set_maker& maker, bench::effort chosen, bench::figures& found) {
  measurement of(maker, chosen.point(200ms), found);
  for (const unsigned threads : chosen.counts(bench::thread_counts())) of.at_rest(threads);
  for (const unsigned threads : chosen.counts(bench::thread_counts()))
    of.while_others_pass(threads);
  of.check();
}

const bench::registration here("semaphore_array", [] {
  return bench::benchmark_of(description, bench::all_semaphore_sets(), measure);
});

}  // namespace
