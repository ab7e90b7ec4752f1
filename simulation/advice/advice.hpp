// SPDX-License-Identifier: Apache-2.0
// Which lock, or what instead of it, would serve a program best.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace readmost::simulation {

// What can be done about a lock.
struct alternative {
  std::string name;
  std::string lock;      // that is simulated
  std::string workload;  // mix or rcu-mix
  unsigned among = 1;    // locks in place of one
  std::string takes;     // what the user has to do
};

// The present lock, glibc's, first, then in the order of what they ask of the user. The first
// `without_changes` need no change of the program.
const std::vector<alternative>& all_alternatives();
inline constexpr std::size_t without_changes = 3;

// Operations a second, over several runs.
struct outcome_range {
  double least = 0;
  double median = 0;
  double most = 0;
};
outcome_range range_of(std::vector<double> outcomes);

struct advice {
  std::size_t chosen = 0;  // among the alternatives
  // The ranges of the chosen one and of the present lock overlap, so that nothing is certain.
  bool is_open = false;
};

// Of the first `among` alternatives, whose ranges these are, the first that reaches nine tenths of
// what the best one does.
advice choose(const std::vector<outcome_range>& outcomes, std::size_t among);

}  // namespace readmost::simulation
