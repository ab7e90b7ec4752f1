// SPDX-License-Identifier: Apache-2.0
// The workloads pairs, write-pairs and mix on real threads, one turn with each lock.
#pragma once

#include <vector>

namespace readmost::simulation {

struct native_request {
  std::vector<unsigned> threads{1, 2};
  unsigned writes_in = 100;
  unsigned milliseconds = 100;
};

struct speed {
  const char* lock;
  const char* workload;
  unsigned threads;
  double per_second;
};

std::vector<speed> measured_speeds(const native_request& asked);

// Instructions of a pair of lock and unlock.
struct pair_counts {
  const char* lock;
  double read;
  double write;
};

// The last one, "none", is of no lock: what the workloads themselves execute.
std::vector<pair_counts> counted_instructions();

}  // namespace readmost::simulation
