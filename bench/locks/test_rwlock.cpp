// SPDX-License-Identifier: Apache-2.0
// test_rwlock of liburcu's benchmarks, as the BRAVO paper runs it (5.3, Fig. 3).
#include "contenders/locks/contenders.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "test_rwlock T 1 10 -c 10 -e 10 -d 1000 (BRAVO 5.3, Fig. 3): T readers repeatedly count down "
    "from 10 inside the section; one writer counts down from 10 inside and from 1000 outside. "
    "Sections per second of all threads and of the writer, by the number of readers.";

struct options {
  unsigned inside = 10;
  unsigned between_writes = 1000;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--inside", inside, "Units of work inside the lock");
    bench::add_option(app, "--between-writes", between_writes,
                      "Units of work of the writer outside");
  }
};

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  for (const unsigned readers : effort.counts()) {
    const auto counter = lock.make_counter();
    std::vector<bench::timed_body> bodies(readers, [&](const std::atomic<bool>& stopped) {
      return counter->read(chosen.inside, 0, stopped);
    });
    bodies.push_back([&](const std::atomic<bool>& stopped) {
      return counter->write(chosen.inside, chosen.between_writes, stopped);
    });
    const bench::timed_outcome outcome = bench::run_together(bodies, effort.point(300ms));
    bench::require_no_write_lost(*counter, outcome.counts.back());
    found.point("test_rwlock", readers, "more", "sections per second",
                outcome.per_second(outcome.total()));
    // A lock that starves the writer has more time for readers.
    found.point("test_rwlock, the writer", readers, "neither", "sections per second",
                outcome.per_second(outcome.counts.back()));
  }
}

const bench::registration here("test_rwlock", [] {
  return bench::benchmark_of_locks<options>(description, measure);
});

}  // namespace
