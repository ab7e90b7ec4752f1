// The costs of our RCU on this machine, for the model of breakeven_model.hpp.
#pragma once

#include "machine/costs.hpp"
#include "rcu/breakeven_model.hpp"

namespace bench {

// Measured in this process, in nanoseconds. On one CPU, the costs of further CPUs are 0.
//
// For each further CPU a grace period moves three cache lines: the version to that CPU, and the
// line of the CPU's record to the initiator and back. The remaining cost is work.
synchronization_costs measure_synchronization(sample_count samples);

// In nanoseconds on the paper's machine, a 700 MHz Pentium III, from Table 1 in the slides. That
// has no cost of grace periods: here one takes, on each CPU, the lock that guards the bits of the
// CPUs yet to pass (Fig. 13), and loads the line with its number from memory.
constexpr synchronization_costs pentium_costs() {
  constexpr double instruction = 0.7;
  constexpr double line = 162.4;  // main memory
  synchronization_costs of;
  of.local = 163.7;             // CPU-local lock
  of.transfer = 360.9 - 107.3;  // cmpxchg: on another CPU's line, on an own one
  of.read = 2 * instruction;
  of.retire = 20 * instruction;
  of.grace = of.local;
  of.grace_work = of.local;
  of.grace_lines = (of.transfer + line) / of.transfer;
  return of;
}

}  // namespace bench
