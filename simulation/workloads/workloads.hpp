// SPDX-License-Identifier: Apache-2.0
// What threads do with a lock on the simulated machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/contenders.hpp"
#include "simulation/machine_description.hpp"
#include "simulation/measurement.hpp"

namespace readmost::simulation {

struct workload_options {
  unsigned threads = 1;
  unsigned writes_in = 100;           // one write in so many operations, where all threads write
  unsigned between_writes = 300'000;  // in cycles, where one thread does
  // Of `mix`, `rcu-mix`, `long-writes` and `long-reads`, in cycles: inside the lock, and between
  // two operations of a thread.
  unsigned inside = 100;
  unsigned pause = 100;
  unsigned among = 1;     // of `mix`: so many locks, of which each operation takes one at random
  unsigned reads_in = 0;  // of `rwbench`, if not 0: one read in so many operations, the rest writes
  // Of `sleeping-readers`: so many readers sleep inside; otherwise every other one.
  std::optional<unsigned> asleep = {};
  unsigned batch = 0;  // of `grace-period`, if not 0: short updates between two grace periods
  // Simulated nanoseconds: before counting, so that the lock knows its regime, and of counting.
  std::uint64_t warm_up = 300'000;
  std::uint64_t time = 300'000;
  std::uint64_t seed = 1;
};

struct workload {
  std::string name;
  std::string what;
  std::string subject;  // if it uses no lock, and so is the same with all
  measurement (*run)(const machine_description& on, const contender& with,
                     const workload_options& how);
};

const std::vector<workload>& all_workloads();
// Throws std::runtime_error with a sentence that has the names that there are.
const workload& find_workload(const std::string& name);

}  // namespace readmost::simulation
