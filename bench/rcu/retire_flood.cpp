// SPDX-License-Identifier: Apache-2.0
// The memory that a flood of retired objects takes.
#include <fstream>
#include <limits>
#include <stdexcept>

#include "harness/benchmark.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;

constexpr const char* description =
    "One thread retires 10,000,000 objects of 64 bytes as fast as it can (rcu_retire with its "
    "default limit, call_rcu) while another reads without a pause. Growth of the peak of resident "
    "memory (VmHWM) in MiB; nanoseconds per object, retired and reclaimed.";

double peak_of_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  throw std::runtime_error("/proc/self/status has no VmHWM; mount /proc");
}

void measure_flood(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found) {
  const unsigned objects = chosen.times(10'000'000);
  bench::filled_cell cell;
  const bench::user_of member(rcu);
  rcu.retire(nullptr);  // starts the reclaiming thread
  rcu.barrier();
  const bench::hot_readers reader(rcu, *cell, 1);
  const double before = peak_of_memory_kib();
  const auto begin = clock::now();
  for (unsigned i = 1; i <= objects; ++i) {
    rcu.retire(nullptr);
    if (i % 64 == 0) rcu.quiescent();
  }
  rcu.barrier();
  const std::chrono::duration<double, std::nano> time = clock::now() - begin;
  const std::string table = "A flood of retired objects";
  found.less_is_better(table, "peak of memory", "MiB", (peak_of_memory_kib() - before) / 1024);
  found.less_is_better(table, "each", "ns", time.count() / objects);
}

const bench::registration here("retire_flood", [] {
  return bench::benchmark_of(description, bench::all_rcu_flavors(), measure_flood);
});

}  // namespace
