// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "machine/timing.hpp"
#include "spread.hpp"

namespace readmost::command {

// Costs of a lock and its unlock, in nanoseconds.
struct lock_costs {
  struct together {
    std::size_t threads;
    spread read;  // for each of them
  };
  spread read;
  spread write;
  std::vector<together> read_together;  // in the order of reader_counts()
};

// The numbers of threads, besides one, that reading is measured with: two, and as many as can run.
inline std::vector<std::size_t> reader_counts(std::size_t cpus) {
  if (cpus < 2) return {};
  if (cpus == 2) return {2};
  return {2, cpus};
}

// `cpus`: those that can be busy at once. `read_once` and `write_once` lock and unlock, each a lock
// of its own.
template <class Read, class Write>
lock_costs costs_of(const std::vector<int>& cpus, const effort& much, Read read_once,
                    Write write_once) {
  lock_costs costs;
  costs.read = *spread_of(time_of(much, read_once));
  costs.write = *spread_of(time_of(much, write_once));
  for (const std::size_t threads : reader_counts(cpus.size())) {
    const stay_on first(cpus.front());
    company others({cpus.begin() + 1, cpus.begin() + static_cast<std::ptrdiff_t>(threads)},
                   [&](const std::stop_token& stop) {
                     while (!stop.stop_requested()) read_once();
                   });
    costs.read_together.push_back({threads, *spread_of(time_of(much, read_once, others.clocks()))});
  }
  return costs;
}

}  // namespace readmost::command
