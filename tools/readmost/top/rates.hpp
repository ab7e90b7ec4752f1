// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "top/sample.hpp"

namespace readmost::command {

struct lock_rates {
  std::uintptr_t lock;
  top_counts counts;
  wait_figures read_waits;
  wait_figures write_waits;
};

// The activity between two samples.
struct top_rates {
  double seconds;
  top_counts all;
  std::uint64_t rounds_by_reports;
  std::uint64_t rounds_by_membarrier;
  std::vector<lock_rates> hottest;  // the ten locks with most operations, hottest first
  const top_sample& now;
};

top_rates rates_between(const top_sample& before, const top_sample& now);

// These name locks by target.place_of(). The block's names are cut to a terminal's columns, if any.
std::string as_block(top_target& target, const top_rates& rates, std::size_t columns);
std::string as_json(top_target& target, const top_rates& rates);

}  // namespace readmost::command
