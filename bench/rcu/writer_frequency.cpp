// SPDX-License-Identifier: Apache-2.0
// Readers and a writer that pauses between its writes (FCP Fig. 21).
#include <fmt/core.h>

#include <algorithm>
#include <readmost/detail/platform/platform.hpp>

#include "harness/benchmark.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;
using namespace std::chrono_literals;

constexpr const char* description =
    "Reads and writes per second when a writer pauses between two writes, for RCU (a grace period "
    "for each write) and reader-writer locks (FCP Fig. 21). One reader less than CPUs, but at "
    "least one, and one writer, which spins during the pause.";

void measure_delay(bench::replacing_side& side, std::chrono::nanoseconds delay,
                   bench::effort chosen, bench::figures& found) {
  bench::filled_cell cell;
  const unsigned cpus = readmost::detail::platform::usable_cpus();
  const bench::hot_readers readers(side, *cell, std::max(cpus, 2U) - 1);
  std::uint64_t writes = 0;
  const std::uint64_t reads_before = readers.done();
  const auto begin = clock::now();
  const auto over = begin + chosen.time(400ms);
  while (clock::now() < over) {
    delete side.replace(*cell, new bench::data(writes));
    ++writes;
    if (delay > 0ns) bench::spin_for(delay);
  }
  const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
  const std::uint64_t reads = readers.done() - reads_before;
  const std::string name = fmt::format("{} us between writes", delay / 1us);
  found.more_is_better("Readers beside a writer", name, "reads per second",
                       static_cast<double>(reads) / seconds);
  found.more_is_better("A writer beside readers", name, "writes per second",
                       static_cast<double>(writes) / seconds);
}

void measure(bench::replacing_side& side, bench::effort chosen, bench::figures& found) {
  for (const std::chrono::nanoseconds delay : {0us, 1us, 10us, 100us, 1000us, 10'000us}) {
    measure_delay(side, delay, chosen, found);
  }
}

const bench::registration here("writer_frequency", [] {
  return bench::benchmark_of(description, bench::all_replacing_sides(), measure);
});

}  // namespace
