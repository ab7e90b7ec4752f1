// SPDX-License-Identifier: Apache-2.0
// Results of runs as tables.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "simulation/sensitivity.hpp"
#include "simulation/workloads/workloads.hpp"

namespace readmost::simulation {

double millions_a_second(const nlohmann::json& of, const char* kind);

void print_head(const machine_description& on, const workload& what);
void print_row(const nlohmann::json& of, bool with_lines);

// The order of the locks for each number of threads, with the ranges under the variations, and the
// pairs whose order turns under one.
void print_orders(const std::vector<nlohmann::json>& results,
                  const std::vector<variation>& variations, unsigned percent);

}  // namespace readmost::simulation
