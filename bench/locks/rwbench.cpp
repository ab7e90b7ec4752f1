// SPDX-License-Identifier: Apache-2.0
// RWBench (BRAVO 5.4, Fig. 4).
#include <fmt/core.h>

#include "contenders/locks/contenders.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "RWBench (BRAVO 5.4, Fig. 4): loops per second of all threads together. Each loop writes with "
    "probability P, takes 10 steps of std::mt19937 under the lock, then 0 to 199 steps without it.";

struct options {
  std::vector<double> probabilities{0.9, 0.5, 0.1, 0.01, 0.001, 0.0001};

  void add_to(CLI::App& app) {
    bench::add_option(app, "--probability", probabilities, "Probabilities P of a write",
                      bench::limits{0.0, 1.0});
  }
};

double loops_per_second(bench::guarded_counter& counter, unsigned threads, double probability,
                        std::chrono::nanoseconds time) {
  struct alignas(128) own_count {
    std::uint64_t writes = 0;
  };
  std::vector<own_count> own(threads);
  std::vector<bench::timed_body> bodies;
  for (unsigned i = 0; i < threads; ++i) {
    bodies.push_back([&, i](const std::atomic<bool>& stopped) {
      return counter.rwbench(i + 1, probability, own[i].writes, stopped);
    });
  }
  const std::uint64_t before = counter.written();
  const bench::timed_outcome outcome = bench::run_together(bodies, time);
  std::uint64_t writes = 0;
  for (const own_count& one : own) writes += one.writes;
  bench::require_no_write_lost(counter, before + writes);
  return outcome.per_second(outcome.total());
}

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  for (const double probability : chosen.probabilities) {
    for (const unsigned threads : effort.counts()) {
      const auto counter = lock.make_counter();
      found.point(fmt::format("RWBench, P = {:g}", probability), threads, "more",
                  "loops per second",
                  loops_per_second(*counter, threads, probability, effort.point(200ms)));
    }
  }
}

const bench::registration here("rwbench_locks", [] {
  return bench::benchmark_of_locks<options>(description, measure);
});

}  // namespace
