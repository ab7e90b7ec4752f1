// SPDX-License-Identifier: Apache-2.0
#include "machine/timing.hpp"

#include <pthread.h>
#include <sched.h>

#include <array>

#include "machine/facts.hpp"

namespace readmost::command {
namespace {

bool run_on(const std::vector<int>& cpus) {
  std::array<cpu_set_t, 8> sets{};
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), sizeof sets, sets.data());
  return sched_setaffinity(0, sizeof sets, sets.data()) == 0;
}

std::uint64_t nanoseconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

stay_on::stay_on(int cpu) : before_(cpus_of_this_thread()), pinned_(run_on({cpu})) {}

stay_on::~stay_on() {
  if (pinned_) run_on(before_);
}

company::company(const std::vector<int>& cpus, const work& each) {
  for (const int cpu : cpus) {
    threads_.emplace_back([this, cpu, each](const std::stop_token& stop) {
      if (!run_on({cpu})) pinned_ = false;
      ready_.fetch_add(1);
      each(stop);
    });
  }
  while (ready_.load() < cpus.size()) std::this_thread::yield();
}

std::vector<clockid_t> company::clocks() {
  std::vector<clockid_t> clocks;
  for (std::jthread& thread : threads_) {
    clockid_t clock{};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) == 0) clocks.push_back(clock);
  }
  return clocks;
}

attendance::attendance(std::vector<clockid_t> others) : clocks_(std::move(others)) {
  clocks_.push_back(CLOCK_THREAD_CPUTIME_ID);
}

void attendance::start() {
  started_.clear();
  for (const clockid_t clock : clocks_) started_.push_back(nanoseconds_on(clock));
}

bool attendance::was_full(std::uint64_t nanoseconds) const {
  for (std::size_t i = 0; i < clocks_.size(); ++i) {
    if (nanoseconds_on(clocks_[i]) - started_[i] < nanoseconds / 20 * 19) return false;
  }
  return true;
}

std::vector<double> time_of_batches(const effort& much, const timed_batch& batch,
                                    std::vector<clockid_t> others) {
  // The least of three, in case one was interrupted.
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
