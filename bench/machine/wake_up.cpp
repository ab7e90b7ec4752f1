// SPDX-License-Identifier: Apache-2.0
// How soon sleeping threads run again once a thread wakes them, and how long that thread is busy
// with waking them (FCP 6, Fig. 19), for several ways to wake. docs/wake-up.md discusses the
// results.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/benchmark.hpp"
#include "machine/wake_strategies.hpp"

namespace {

namespace platform = readmost::detail::platform;

constexpr const char* description =
    "How soon sleeping threads run again, by the way they are woken and by their number, in "
    "microseconds: until half and 90% of all sleepers ran, in all rounds; how long the waker is "
    "busy with waking them; until the last sleeper of a round runs; CPU times of the wake-up.";

// The kernel's state of a thread of this process.
class thread_state {
 public:
  explicit thread_state(int thread_id) {
    const std::string path = fmt::format("/proc/self/task/{}/stat", thread_id);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) {
      throw std::runtime_error(fmt::format(
          "{} cannot be read ({}); mount /proc and raise the limit on open files (ulimit -n)", path,
          std::strerror(errno)));
    }
  }
  ~thread_state() { close(file_); }
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;

  bool is_asleep() const {
    std::array<char, 128> text{};
    const ssize_t length = pread(file_, text.data(), text.size(), 0);
    const std::string_view line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    return line.find(") S ") != line.npos;
  }

 private:
  int file_;
};

enum class afterwards { sleeps, works };

// One round, in nanoseconds.
struct round_result {
  std::vector<std::uint64_t> latencies;  // from the wake-up's begin until each sleeper goes on
  std::uint64_t waker_busy;
  std::uint64_t waker_cpu;  // CPU time of waker_busy
  std::uint64_t cpu;        // CPU time of all threads until the last sleeper goes on
};

std::uint64_t cpu_time(clockid_t whose) {
  timespec t{};
  clock_gettime(whose, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Threads that sleep and are woken round by round.
class sleepers {
 public:
  explicit sleepers(std::size_t count) : each_(count) {
    try {
      for (sleeper& one : each_) one.thread = std::thread([this, &one] { live(one); });
      for (sleeper& one : each_) {
        while (one.id.load() == 0) platform::sleep_for(10'000);
        one.state = std::make_unique<thread_state>(one.id.load());
      }
    } catch (const std::system_error& error) {
      end();
      throw std::runtime_error(fmt::format(
          "{} threads cannot be started ({}); give fewer --sleepers", count, error.what()));
    } catch (...) {
      end();
      throw;
    }
  }
  ~sleepers() { end(); }
  sleepers(const sleepers&) = delete;
  sleepers& operator=(const sleepers&) = delete;

  round_result run(bench::wake_strategy& strategy, afterwards waker) {
    strategy.prepare();
    strategy_ = &strategy;
    arrived_ = 0;
    done_ = 0;
    gate_.fetch_add(1);
    wake(gate_);
    while (arrived_.load() < each_.size()) platform::sleep_for(20'000);
    for (const sleeper& one : each_) {
      while (!one.state->is_asleep()) platform::sleep_for(20'000);
    }
    // Until the system calls that the above caused are over.
    platform::sleep_for(100'000);

    round_result result;
    const std::uint64_t cpu_before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    const std::uint64_t waker_before = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t begin = platform::now();
    strategy.wake();
    result.waker_busy = platform::now() - begin;
    result.waker_cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID) - waker_before;
    for (std::uint32_t done = done_; done < each_.size(); done = done_) {
      if (waker == afterwards::sleeps) {
        platform::futex_wait(platform::futex_of(done_), done, ~0U, nullptr);
      }
    }
    result.cpu = cpu_time(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
    for (const sleeper& one : each_) result.latencies.push_back(one.awake_at - begin);
    return result;
  }

 private:
  using word = platform::atomic<std::uint32_t>;

  struct alignas(platform::cache_line) sleeper {
    std::uint64_t awake_at = 0;
    platform::atomic<int> id{0};
    std::unique_ptr<thread_state> state;
    std::thread thread;
  };

  static void wake(const word& changed) {
    platform::futex_wake(platform::futex_of(changed), INT32_MAX, ~0U);
  }

  void live(sleeper& self) {
    self.id = gettid();
    for (std::uint32_t round = 0;; ++round) {
      while (gate_.load() == round)
        platform::futex_wait(platform::futex_of(gate_), round, ~0U, nullptr);
      if (strategy_ == nullptr) return;
      arrived_.fetch_add(1);
      strategy_->sleep();
      self.awake_at = platform::now();
      strategy_->leave();
      if (done_.fetch_add(1) + 1 == each_.size()) wake(done_);
    }
  }

  void end() {
    strategy_ = nullptr;
    gate_.fetch_add(1);
    wake(gate_);
    for (sleeper& one : each_) {
      if (one.thread.joinable()) one.thread.join();
    }
  }

  std::vector<sleeper> each_;
  bench::wake_strategy* strategy_ = nullptr;
  alignas(platform::cache_line) word gate_{0};
  alignas(platform::cache_line) word arrived_{0};
  alignas(platform::cache_line) word done_{0};
};

struct options {
  std::vector<unsigned> sleepers{1, 8, 63};
  unsigned rounds = 40;
  bool waker_works = false;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--sleepers", sleepers, "Numbers of threads that sleep",
                      bench::limits{1U, 1024U});
    bench::add_option(app, "--rounds", rounds, "How often each number is measured",
                      bench::limits{1U, 1'000'000U});
    bench::add_flag(app, "--waker-works", waker_works,
                    "The waker stays on its CPU afterwards; without it, it sleeps");
  }
};

void measure(bench::wake_strategy& strategy, const options& chosen, bench::effort much,
             bench::figures& found) {
  const afterwards waker = chosen.waker_works ? afterwards::works : afterwards::sleeps;
  const unsigned rounds = much.quick ? std::min(chosen.rounds, 2U) : chosen.rounds;
  for (const unsigned count : chosen.sleepers) {
    bench::percentiles latency;
    bench::percentiles last;
    bench::percentiles busy;
    bench::percentiles waker_cpu;
    bench::percentiles all_cpu;
    sleepers asleep(count);
    for (unsigned round = 0; round < rounds; ++round) {
      const round_result result = asleep.run(strategy, waker);
      const auto add = [](bench::percentiles& to, std::uint64_t ns) {
        to.add(std::chrono::nanoseconds(ns));
      };
      for (const std::uint64_t each : result.latencies) add(latency, each);
      add(last, *std::max_element(result.latencies.begin(), result.latencies.end()));
      add(busy, result.waker_busy);
      add(waker_cpu, result.waker_cpu);
      add(all_cpu, result.cpu);
    }
    const auto point = [&](const char* table, double ns, const char* better = "less") {
      found.point(table, count, better, "us", ns / 1000);
    };
    point("Half awake", latency.median());
    point("90% awake", latency.at(0.9));
    point("Waker busy", busy.median());
    point("Slowest sleeper", latency.highest(), "neither");
    point("All awake", last.median(), "neither");
    point("CPU time of the waker", waker_cpu.median(), "neither");
    point("CPU time of all threads", all_cpu.median(), "neither");
  }
}

const bench::registration here("wake_up", [] {
  return bench::benchmark_of<options>(description, bench::wake_strategies(), measure);
});

}  // namespace
