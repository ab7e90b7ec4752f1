// SPDX-License-Identifier: Apache-2.0
// Runs of a workload, each in a process of its own, and what they found as JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulation/sensitivity.hpp"
#include "simulation/workloads/workloads.hpp"

namespace readmost::simulation {

struct run {
  const contender* with;
  const variation* on;
  workload_options how;

  std::string name() const;
};

// Calls done(i, result) for each run, in their order. Latencies are in cycles.
void execute(const workload& what, const std::vector<run>& runs, unsigned processes,
             const std::function<void(std::size_t, const nlohmann::json&)>& done);

}  // namespace readmost::simulation
