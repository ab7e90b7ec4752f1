// SPDX-License-Identifier: Apache-2.0
// Readers that sleep inside (FCP Fig. 20).
#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <readmost/detail/platform/platform.hpp>

#include "contenders/locks/contenders.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Readers that sleep inside sections (FCP Fig. 20): of --readers threads that read without a "
    "pause, some sleep in each section; by the number of those. One thread per CPU does nothing "
    "but "
    "yield, so that a sleeper stays off its CPU for a while, and one thread writes now and then. A "
    "sleeper calls sched_yield, as in the paper, or sleeps for some microseconds. Sections per "
    "second of the readers and of those that do not sleep; the writer's waits for the lock, in "
    "nanoseconds.";

struct options {
  unsigned readers = 8;
  std::vector<unsigned> sleepers{0, 1, 2, 4, 8};
  std::vector<unsigned> sleeps{0, 100};
  unsigned between_writes = 1000;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--readers", readers, "Threads that read", bench::limits{1U, 1024U});
    bench::add_option(app, "--sleepers", sleepers, "How many of them sleep");
    bench::add_option(app, "--sleep", sleeps, "For how many microseconds; 0: sched_yield");
    bench::add_option(app, "--between-writes", between_writes, "Microseconds between two writes");
  }
};

void measure_sleepers(const bench::contender& lock, const options& chosen, unsigned sleepers,
                      std::chrono::microseconds sleep, std::chrono::nanoseconds time,
                      bench::figures& found) {
  const auto counter = lock.make_counter();
  const std::function<void()> fall_asleep = [sleep] {
    if (sleep == 0us) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(sleep);
    }
  };
  const std::function<void()> pause = [&chosen] {
    std::this_thread::sleep_for(std::chrono::microseconds(chosen.between_writes));
  };
  bench::percentiles waits;
  std::vector<bench::timed_body> bodies;
  for (unsigned i = 0; i < chosen.readers; ++i) {
    bodies.push_back([&, sleeps = i < sleepers](const std::atomic<bool>& stopped) {
      return sleeps ? counter->read_and_call([] {}, fall_asleep, stopped)
                    : counter->read(10, 0, stopped);
    });
  }
  bodies.push_back([&](const std::atomic<bool>& stopped) {
    return counter->write_timed(
        pause, [&](auto asked, auto acquired) { waits.add(acquired - asked); }, stopped);
  });
  for (unsigned i = 0; i < readmost::detail::platform::usable_cpus(); ++i) {
    bodies.push_back([](const std::atomic<bool>& stopped) -> std::uint64_t {
      while (!stopped.load(std::memory_order_relaxed)) sched_yield();
      return 0;
    });
  }
  const bench::timed_outcome outcome = bench::run_together(bodies, time);
  bench::require_no_write_lost(*counter, outcome.counts[chosen.readers]);

  const std::string how = sleep == 0us ? "yield" : fmt::format("sleep {} us", sleep / 1us);
  const auto point = [&](const char* what, const char* better, const char* unit, double value) {
    found.point(fmt::format("{}, sleepers {}", what, how), sleepers, better, unit, value);
  };
  point("Readers", "more", "sections per second",
        outcome.per_second(outcome.sum(0, chosen.readers)));
  if (sleepers < chosen.readers) {
    point("Readers that do not sleep", "more", "sections per second",
          outcome.per_second(outcome.sum(sleepers, chosen.readers)));
  }
  if (waits.count() > 0) {
    point("Wait of a writer, median", "less", "ns", waits.median());
    point("Wait of a writer, p99", "less", "ns", waits.p99());
  }
}

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  std::vector<unsigned> counts = chosen.sleepers;
  if (effort.quick && counts.size() > 2) counts = {counts.front(), counts.back()};
  for (const unsigned sleep : chosen.sleeps) {
    for (const unsigned sleepers : counts) {
      measure_sleepers(lock, chosen, std::min(sleepers, chosen.readers),
                       std::chrono::microseconds(sleep), effort.point(200ms), found);
    }
  }
}

const bench::registration here("lock_sleeping_readers", [] {
  return bench::benchmark_of_locks<options>(description, measure);
});

}  // namespace
