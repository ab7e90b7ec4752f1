// SPDX-License-Identifier: Apache-2.0
// The alternator (BRAVO 5.2, Fig. 2).
#include <algorithm>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>

#include "contenders/locks/contenders.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Alternator (BRAVO 5.2, Fig. 2): turns per second of a ring of threads. The thread whose turn "
    "it is locks for reading, unlocks, and gives the turn to the next thread by a store. No thread "
    "writes, and no two read at once. Waiting threads poll a variable; where the threads outnumber "
    "the CPUs, they yield between two polls.";

double turns_per_second(bench::guarded_counter& lock, unsigned threads,
                        std::chrono::nanoseconds time) {
  const bool polite = threads > readmost::detail::platform::usable_cpus();
  std::vector<bench::ring_place> ring(threads);
  ring.front().turn = 1;
  std::vector<bench::timed_body> bodies;
  for (unsigned i = 0; i < threads; ++i) {
    bodies.push_back([&, i](const std::atomic<bool>& stopped) {
      return lock.read_by_turns(ring[i], ring[(i + 1) % threads], polite, stopped);
    });
  }
  const bench::timed_outcome outcome = bench::run_together(bodies, time);

  // The turn counts how often it was handed on, also by the last thread that had it.
  std::uint64_t last = 0;
  for (const bench::ring_place& place : ring) last = std::max(last, place.turn.load());
  if (last - 1 != outcome.total()) throw std::runtime_error("a turn was lost or taken twice");
  // Would not return if a read hold were left over.
  bench::require_no_write_lost(lock, 0);
  return outcome.per_second(outcome.total());
}

void measure(const bench::contender& lock, bench::effort effort, bench::figures& found) {
  for (const unsigned threads : effort.counts()) {
    const auto shared = lock.make_counter();
    found.point("Alternator", threads, "more", "turns per second",
                turns_per_second(*shared, threads, effort.point(300ms)));
  }
}

const bench::registration here("alternator",
                               [] { return bench::benchmark_of_locks(description, measure); });

}  // namespace
