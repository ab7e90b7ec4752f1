// SPDX-License-Identifier: Apache-2.0
// The costs of our RCU on this machine, for the model of breakeven_model.hpp.
#pragma once

#include "machine/costs.hpp"
#include "simulation/advice/breakeven_model.hpp"

namespace bench {

using readmost::simulation::synchronization_costs;

// Measured in this process, in nanoseconds. On one CPU, the costs of further CPUs are 0.
//
// For each further CPU a grace period moves three cache lines: the version to that CPU, and the
// line of the CPU's record to the initiator and back. The remaining cost is work.
synchronization_costs measure_synchronization(sample_count samples);

}  // namespace bench
