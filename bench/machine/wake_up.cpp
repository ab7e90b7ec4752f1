// How soon sleeping threads run again once one thread lets them, and how long that thread is busy
// with waking them (FCP 6, Fig. 19), for several ways of waking. The ways take turns, so
// that what the machine does meanwhile falls on all of them alike.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "wake_strategies.hpp"

namespace {

namespace platform = readmost::detail::platform;

// What the kernel says a thread of this process is doing.
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
  std::uint64_t waker_cpu;  // CPU time of that: without what it spent off its CPU
  std::uint64_t cpu;        // of all threads, until the last sleeper goes on
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
    // Until everything that was under way because of the above is over.
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

// Kept in microseconds.
class distribution {
 public:
  void add(std::uint64_t nanoseconds) {
    values_.push_back(static_cast<double>(nanoseconds) / 1000);
  }
  void sort() { std::sort(values_.begin(), values_.end()); }
  double at(double share) const {
    return values_[static_cast<std::size_t>(share * static_cast<double>(values_.size() - 1))];
  }
  nlohmann::json to_json() const {
    return {{"p50", at(0.5)}, {"p90", at(0.9)}, {"p99", at(0.99)}, {"max", at(1)}};
  }

 private:
  std::vector<double> values_;
};

struct measurement {
  distribution latency;
  distribution last;
  distribution waker;
  distribution waker_cpu;
  distribution cpu;

  void add(const round_result& round) {
    for (const std::uint64_t each : round.latencies) latency.add(each);
    last.add(*std::max_element(round.latencies.begin(), round.latencies.end()));
    waker.add(round.waker_busy);
    waker_cpu.add(round.waker_cpu);
    cpu.add(round.cpu);
  }
  void sort() {
    for (distribution* each : {&latency, &last, &waker, &waker_cpu, &cpu}) each->sort();
  }
};

struct settings {
  std::vector<unsigned> sleepers{1, 2, 4, 8, 16, 32, 63};
  unsigned rounds = 200;
  std::vector<std::string> strategies;
  bool waker_works = false;
  std::string json;
};

void add_options(CLI::App& app, settings& chosen, const std::vector<std::string>& names) {
  app.add_option("--sleepers", chosen.sleepers, "How many threads sleep; several numbers: in turn")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_option("--rounds", chosen.rounds, "How often each way is measured")
      ->check(CLI::Range(1u, 1'000'000u))
      ->capture_default_str();
  app.add_option("--strategies", chosen.strategies, "Ways of waking; without it all of them")
      ->check(CLI::IsMember(names));
  app.add_flag("--waker-works", chosen.waker_works,
               "The waker stays on its CPU afterwards; without it, it sleeps");
  app.add_option("--json", chosen.json, "Also write every figure to this file");
}

nlohmann::json machine() {
  utsname system{};
  uname(&system);
  return {{"processors", platform::usable_cpus()},
          {"kernel", system.release},
          {"architecture", system.machine}};
}

void measure(const settings& chosen, nlohmann::json& rows) {
  const auto strategies = bench::wake_strategies();
  const auto is_chosen = [&](const std::string& name) {
    const auto& wanted = chosen.strategies;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  const afterwards waker = chosen.waker_works ? afterwards::works : afterwards::sleeps;
  fmt::print("{:>8}  {:20}  {:>8} {:>8} {:>8}  {:>8}  {:>8} {:>8}  {:>8}\n", "sleepers",
             "microseconds", "p50", "p90", "max", "last", "busy", "own cpu", "all cpu");
  for (const unsigned count : chosen.sleepers) {
    std::map<std::string, measurement> by_name;
    sleepers asleep(count);
    for (unsigned round = 0; round < chosen.rounds; ++round) {
      for (std::size_t i = 0; i < strategies.size(); ++i) {
        // Another one begins each time: nobody always follows the same neighbour.
        auto& strategy = *strategies[(i + round) % strategies.size()];
        if (is_chosen(strategy.name())) by_name[strategy.name()].add(asleep.run(strategy, waker));
      }
    }
    for (const auto& strategy : strategies) {
      if (!is_chosen(strategy->name())) continue;
      measurement& m = by_name[strategy->name()];
      m.sort();
      fmt::print("{:8}  {:20}  {:8.1f} {:8.1f} {:8.1f}  {:8.1f}  {:8.1f} {:8.1f}  {:8.1f}\n", count,
                 strategy->name(), m.latency.at(0.5), m.latency.at(0.9), m.latency.at(1),
                 m.last.at(0.5), m.waker.at(0.5), m.waker_cpu.at(0.5), m.cpu.at(0.5));
      rows.push_back({{"sleepers", count},
                      {"strategy", strategy->name()},
                      {"latency", m.latency.to_json()},
                      {"last", m.last.to_json()},
                      {"waker_busy", m.waker.to_json()},
                      {"waker_cpu", m.waker_cpu.to_json()},
                      {"cpu", m.cpu.to_json()}});
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> names;
  for (const auto& strategy : bench::wake_strategies()) names.push_back(strategy->name());
  settings chosen;
  CLI::App app{"How soon sleeping threads run again, by the way they are woken."};
  add_options(app, chosen, names);
  CLI11_PARSE(app, argc, argv);

  std::ofstream json;
  if (!chosen.json.empty()) {
    json.open(chosen.json);
    if (!json) {
      throw std::runtime_error(
          fmt::format("--json {} cannot be written ({}); name a file in a folder that exists",
                      chosen.json, std::strerror(errno)));
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  measure(chosen, rows);
  if (json.is_open()) {
    json << nlohmann::json{{"machine", machine()},
                           {"unit", "us"},
                           {"rounds", chosen.rounds},
                           {"waker_works", chosen.waker_works},
                           {"rows", rows}}
                .dump(2)
         << '\n';
    json.close();
    if (!json)
      throw std::runtime_error(
          fmt::format("--json {} could not be written; make room for it", chosen.json));
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "wake_up: {}\n", error.what());
  return 1;
}
