// SPDX-License-Identifier: Apache-2.0
// How far a result depends on the figures of a machine file, which are measured or estimated on
// other machines: whatever stays the same when each of them is a little smaller or larger holds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulation/machine_description.hpp"

namespace readmost::simulation {

struct variation {
  std::string name;  // such as "latency.memory +30%"; empty: the machine as it is
  machine_description machine;
};

// The machine as it is, then with one of its latencies so much smaller, or larger, at a time: those
// that are not 0 and that its topology has; and its `kept` likewise. The last has transfers that
// take different times, or the same if the machine's do not.
std::vector<variation> variations_of(const machine_description& machine, unsigned percent);

// What a contender reached under each variation, the first of which is the machine as it is.
struct standing {
  std::string name;
  std::vector<double> reached;
};

// Two contenders that are neighbours in the order on the machine as it is.
struct open_pair {
  std::string first;
  std::string second;
  std::size_t variation;  // one in which the second is not behind the first
};

struct ranking {
  std::vector<standing> order;  // on the machine as it is, the best first
  std::vector<open_pair> open;  // those whose order turns
};

// `more_is_better`: otherwise the smallest is the best.
ranking rank(std::vector<standing> all, bool more_is_better);

}  // namespace readmost::simulation
