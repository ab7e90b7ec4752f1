// SPDX-License-Identifier: Apache-2.0
// Readers and a writer that pauses between its writes (FCP Fig. 21). rcu/writer_frequency.cpp is
// the same for RCU.
#include <algorithm>
#include <readmost/detail/platform/platform.hpp>

#include "contenders/locks/contenders.hpp"
#include "harness/batches.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Sections per second of readers, and of a writer that pauses between two writes (FCP Fig. 21), "
    "by the length of the pause in microseconds. One reader less than CPUs, but at least one; all "
    "sections count down from 10, and the writer spins during the pause.";

struct options {
  unsigned readers = std::max(readmost::detail::platform::usable_cpus(), 2U) - 1;
  std::vector<unsigned> delays{0, 1, 10, 100, 1000, 10'000};

  void add_to(CLI::App& app) {
    bench::add_option(app, "--readers", readers, "Threads that read", bench::limits{1U, 1024U});
    bench::add_option(app, "--delay", delays, "Microseconds between two writes");
  }
};

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  for (const unsigned delay : chosen.delays) {
    const auto counter = lock.make_counter();
    const auto pause = [delay] {
      if (delay != 0) bench::spin_for(std::chrono::microseconds(delay));
    };
    std::vector<bench::timed_body> bodies(chosen.readers, [&](const std::atomic<bool>& stopped) {
      return counter->read(10, 0, stopped);
    });
    bench::percentiles waits;
    bodies.push_back([&](const std::atomic<bool>& stopped) {
      return counter->write_timed(
          pause, [&](auto asked, auto acquired) { waits.add(acquired - asked); }, stopped);
    });
    const bench::timed_outcome outcome = bench::run_together(bodies, effort.point(200ms));
    const std::uint64_t writes = outcome.counts.back();
    bench::require_no_write_lost(*counter, writes);
    found.point("Readers beside a writer", delay, "more", "sections per second",
                outcome.per_second(outcome.total() - writes));
    found.point("A writer beside readers", delay, "more", "sections per second",
                outcome.per_second(writes));
    if (waits.count() > 0) {
      found.point("Wait of a writer beside readers", delay, "less", "ns, median", waits.median());
    }
  }
}

const bench::registration here("lock_writer_frequency", [] {
  return bench::benchmark_of_locks<options>(description, measure);
});

}  // namespace
