// SPDX-License-Identifier: Apache-2.0
// How many instructions locks execute that are no accesses of memory.
#pragma once

#include <string_view>

namespace readmost::simulation {

// Of a pair of lock and unlock by one thread.
struct pair_counts {
  double instructions;
  double accesses;  // those that the machine sees; each is one of the instructions

  // That are none, to each that is.
  double beside_access() const {
    return instructions > accesses ? (instructions - accesses) / accesses : 0;
  }
};

struct instruction_counts {
  std::string_view lock;
  pair_counts read;
  pair_counts write;
};

// Of a lock that is not in the table, and of what is no lock: a test and a branch.
inline constexpr double usual_beside_access = 2;

// Of the loop that calls, with what the workload does inside for a cycle.
extern const double instructions_of_caller;

// Null for a lock that is not in the table.
const instruction_counts* find_instruction_counts(std::string_view lock) noexcept;

}  // namespace readmost::simulation
