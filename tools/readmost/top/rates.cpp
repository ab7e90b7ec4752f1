// SPDX-License-Identifier: Apache-2.0
#include "top/rates.hpp"

#include <algorithm>
#include <utility>

namespace readmost::command {
namespace {

constexpr std::size_t locks_shown = 10;

// The waits that ended between two samples. The longest wait is that since the start, so that it
// may be older than the first sample.
wait_figures waits_since(const std::shared_ptr<const wait_counts>& before,
                         const std::shared_ptr<const wait_counts>& now) {
  if (now == nullptr) return {};
  wait_counts between = *now;
  if (before != nullptr) {
    for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
      between.waits[step] -= std::min(between.waits[step], before->waits[step]);
    }
    between.total -= std::min(between.total, before->total);
  }
  return figures_of(between);
}

// The locks with most operations in between, hottest first.
std::vector<lock_rates> hottest(const top_sample& before, const top_sample& now) {
  std::vector<lock_rates> rates;
  const top_lock none;
  for (const auto& [lock, after] : now.locks) {
    const auto found = before.locks.find(lock);
    const top_lock& earlier = found != before.locks.end() ? found->second : none;
    const lock_rates one{lock, after.counts.since(earlier.counts),
                         waits_since(earlier.read_waits, after.read_waits),
                         waits_since(earlier.write_waits, after.write_waits)};
    if (one.counts.operations() != 0) rates.push_back(one);
  }
  const auto is_hotter = [](const lock_rates& one, const lock_rates& other) {
    return std::pair(one.counts.operations(), one.lock) >
           std::pair(other.counts.operations(), other.lock);
  };
  const std::size_t shown = std::min(rates.size(), locks_shown);
  std::partial_sort(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(shown), rates.end(),
                    is_hotter);
  rates.resize(shown);
  return rates;
}

}  // namespace

top_rates rates_between(const top_sample& before, const top_sample& now) {
  return {std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-6),
          now.all.since(before.all),
          now.rounds_by_reports - before.rounds_by_reports,
          now.rounds_by_membarrier - before.rounds_by_membarrier,
          hottest(before, now),
          now};
}

}  // namespace readmost::command
