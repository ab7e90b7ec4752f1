// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compare/metric.hpp"
#include "machine/facts.hpp"

namespace readmost::command {

// The results under one lock; the values are in the order of the rounds.
struct measurements {
  std::string lock;
  std::string library;  // empty: none is preloaded
  std::vector<double> values;
  std::vector<double> seconds;
  std::vector<double> others;  // the share of all CPUs that other processes used during each run
};

struct comparison {
  std::vector<std::string> program;
  metric judged_by;
  int rounds_asked = 0;
  std::vector<measurements> locks;  // the first is the baseline
  std::string problem;              // why it stopped early; empty when it did not
  kernel_facts kernel = kernel_of_this_machine();
  std::vector<int> cpus = cpus_of_this_thread();

  bool has_values() const;
  std::size_t rounds_finished() const;

  // Each value against the baseline's of the same round, so that changes from round to round (other
  // load, the CPU's frequency) cancel. Only rounds that both have finished count.
  std::vector<double> ratios_of(const measurements& lock) const;
};

std::string as_table(const comparison& results);
std::string as_json(const comparison& results);

}  // namespace readmost::command
