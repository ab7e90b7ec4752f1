// SPDX-License-Identifier: Apache-2.0
// How soon readers see a new version by themselves (FCP 3.1 and Fig. 1).
#include <algorithm>
#include <optional>
#include <readmost/detail/platform/platform.hpp>

#include "harness/benchmark.hpp"
#include "machine/versions.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "The share of readers, in percent, that have seen a new version within a time (nanoseconds) by "
    "themselves, without a message (FCP Fig. 1). `memory` is the paper's experiment: a thread "
    "writes a location now and then, another on another CPU reads it at random times, and a read "
    "of "
    "the old value after the write is stale by the time between them. The others use the library's "
    "own version: it is raised as by a writer's round (domain.version), and a reader of RCU "
    "reports "
    "it (thread_record.seen) when it leaves a section. One reader less than CPUs, but at least "
    "one, "
    "with or without pauses between sections; sections and pauses of various lengths. A report "
    "after more than 1 ms does not count: the reader was off its CPU. Times on the CPUs' own "
    "clocks "
    "(TSC, CNTVCT), which agree within some nanoseconds.";

constexpr double places[] = {20,  40,   60,   80,   100,  150,  200,    300,   500,
                             700, 1000, 1500, 2000, 3000, 5000, 10'000, 20'000};

// The share of all that are at most each place.
void draw(const std::vector<double>& times, std::size_t all, bench::figures& found) {
  for (const double place : places) {
    const auto within =
        std::count_if(times.begin(), times.end(), [&](double one) { return one <= place; });
    found.point(
        "Readers that have seen a new version", place, "more", "%",
        100 * static_cast<double>(within) / static_cast<double>(std::max<std::size_t>(all, 1)));
  }
}

struct reader_kind {
  const char* name;
  std::chrono::nanoseconds section;
  std::chrono::nanoseconds rest;
};

void measure_memory(bench::effort chosen, bench::figures& found) {
  const bench::staleness_of_memory seen =
      bench::measure_memory(chosen.times(20'000), chosen.time(2s));
  if (!seen.stale_ns.empty()) draw(seen.stale_ns, seen.stale_ns.size(), found);
  found.neutral("Staleness", "reads", "times", static_cast<double>(seen.reads));
  found.neutral("Staleness", "stale reads", "times", static_cast<double>(seen.stale_ns.size()));
}

void measure_sections(const reader_kind& kind, bench::effort chosen, bench::figures& found) {
  const unsigned readers = std::max(readmost::detail::platform::usable_cpus(), 2U) - 1;
  const std::vector<std::optional<double>> seen = bench::measure_versions(
      readers, kind.section, kind.rest, chosen.times(20'000), chosen.time(1s));
  std::vector<double> times;
  bench::percentiles median;
  for (const auto& one : seen) {
    if (!one) continue;
    times.push_back(*one);
    median.add_ns(*one);
  }
  draw(times, seen.size(), found);
  if (!times.empty()) found.neutral("Staleness", "median", "ns", median.median());
  found.neutral("Staleness", "not seen within 1 ms", "%",
                100 * static_cast<double>(seen.size() - times.size()) /
                    static_cast<double>(std::max<std::size_t>(seen.size(), 1)));
}

const bench::registration here("staleness", [] {
  const std::vector<reader_kind> kinds{
      {"sections", 0ns, 0ns},         {"sections of 100 ns", 100ns, 0ns},
      {"sections of 1 us", 1us, 0ns}, {"rests of 100 ns", 0ns, 100ns},
      {"rests of 1 us", 0ns, 1us},    {"rests of 10 us", 0ns, 10us},
      {"memory", 0ns, 0ns},
  };
  return bench::benchmark_of(description, kinds, [](const auto& kind, auto chosen, auto& found) {
    if (kind.name == std::string("memory")) return measure_memory(chosen, found);
    measure_sections(kind, chosen, found);
  });
});

}  // namespace
