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

struct effort {
  int samples;
  std::chrono::nanoseconds each;  // how long about one sample takes
};

// Keeps the calling thread on one CPU while it lives, where the system allows it.
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

// The work of a thread; ends soon after it is asked to stop.
using work = std::function<void(std::stop_token)>;

// Threads that do the same work, each on a CPU of its own, while this lives. All are at it when the
// constructor returns. Throws std::system_error when there cannot be so many.
class company {
 public:
  company(const std::vector<int>& cpus, const work& each);

  // Whether each is on its CPU.
  bool pinned() const { return pinned_; }

  // A clock for each that runs while it runs.
  std::vector<clockid_t> clocks();

 private:
  std::atomic<bool> pinned_{true};
  std::atomic<std::size_t> ready_{0};
  std::vector<std::jthread> threads_;
};

// Tells whether some threads had their CPUs for themselves.
class attendance {
 public:
  // The calling thread and these.
  explicit attendance(std::vector<clockid_t> others);

  // Forgets what was until now.
  void start();

  // Whether all have run for about this long since start().
  bool was_full(std::uint64_t nanoseconds) const;

 private:
  std::vector<clockid_t> clocks_;
  std::vector<std::uint64_t> started_;
};

// Nanoseconds that one call of the operation takes, one value for each sample. Repeats samples
// during which somebody else's work took a CPU from this thread or the others; when all are so, it
// makes do with them.
template <class Operation>
std::vector<double> time_of(const effort& much, Operation operation,
                            std::vector<clockid_t> others = {}) {
  const auto batch = [&](std::uint64_t count) {
    const std::uint64_t start = detail::platform::now();
    for (std::uint64_t i = 0; i < count; ++i) operation();
    return std::max<std::uint64_t>(detail::platform::now() - start, 1);
  };
  // The least of three, lest one that was interrupted passes for a long operation.
  const auto least = [&](std::uint64_t count) {
    return std::min({batch(count), batch(count), batch(count)});
  };
  const auto wanted = static_cast<std::uint64_t>(much.each.count());
  std::uint64_t count = 1;
  while (least(count) < wanted / 2) count *= 2;

  constexpr int attempts_for_each = 8;
  attendance present(std::move(others));
  std::vector<double> samples;
  std::vector<double> disturbed;
  for (int left = attempts_for_each * much.samples;
       left > 0 && samples.size() < static_cast<std::size_t>(much.samples); --left) {
    present.start();
    const std::uint64_t took = batch(count);
    (present.was_full(took) ? samples : disturbed)
        .push_back(static_cast<double>(took) / static_cast<double>(count));
  }
  return samples.empty() ? disturbed : samples;
}

}  // namespace readmost::command
