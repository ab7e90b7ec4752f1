// SPDX-License-Identifier: Apache-2.0
#include "top/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace readmost::command {
namespace {

constexpr std::size_t locks_shown = 100;

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

wait_metrics waits_of(const wait_counts& counts) {
  const wait_figures waits = figures_of(counts);
  return {waits.count, seconds(waits.total), seconds(waits.p50), seconds(waits.p99),
          seconds(waits.longest)};
}

// The sum of several locks.
class locks_together {
 public:
  void add(const top_lock& lock) {
    counts_.passive_reads += lock.counts.passive_reads;
    counts_.active_reads += lock.counts.active_reads;
    counts_.writes += lock.counts.writes;
    counts_.revocations += lock.counts.revocations;
    add(readers_, lock.read_waits.get());
    add(writers_, lock.write_waits.get());
  }

  lock_metrics metrics() const {
    lock_metrics m;
    m.passive_reads = counts_.passive_reads;
    m.active_reads = counts_.active_reads;
    m.writes = counts_.writes;
    m.revocations = counts_.revocations;
    m.readers = waits_of(readers_);
    m.writers = waits_of(writers_);
    return m;
  }

 private:
  static void add(wait_counts& sum, const wait_counts* more) {
    if (more == nullptr) return;
    for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
      sum.waits[step] += more->waits[step];
    }
    sum.total += more->total;
    sum.longest = std::max(sum.longest, more->longest);
  }

  top_counts counts_;
  wait_counts readers_;
  wait_counts writers_;
};

}  // namespace

process_metrics metrics_of(top_target& target, const top_sample& sample) {
  process_metrics m;
  m.program = target.program();
  m.process = target.pid();
  m.version = READMOST_VERSION;
  m.lock = name_of(sample.lock);
  m.threads = sample.threads;
  m.passive_reads = sample.all.passive_reads;
  m.active_reads = sample.all.active_reads;
  m.writes = sample.all.writes;
  m.revocations = sample.all.revocations;
  m.rounds_by_reports = sample.rounds_by_reports;
  m.rounds_by_membarrier = sample.rounds_by_membarrier;

  std::vector<std::pair<std::uint64_t, std::uintptr_t>> hottest;
  for (const auto& [lock, figures] : sample.locks) {
    hottest.emplace_back(figures.counts.operations(), lock);
  }
  std::ranges::sort(hottest, std::greater());
  locks_together rest;
  for (std::size_t i = 0; i < hottest.size(); ++i) {
    const std::uintptr_t lock = hottest[i].second;
    const top_lock& figures = sample.locks.at(lock);
    if (i >= locks_shown) {
      rest.add(figures);
      continue;
    }
    locks_together one;
    one.add(figures);
    m.locks.push_back(one.metrics());
    m.locks.back().address = fmt::format("{:#x}", lock - target.core_offset());
    m.locks.back().place = target.place_of(lock - target.core_offset());
  }
  if (hottest.size() > locks_shown) {
    m.locks.push_back(rest.metrics());
    m.locks.back().address = "others";
  }
  return m;
}

}  // namespace readmost::command
