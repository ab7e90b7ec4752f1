// What our RCU costs here, for the model of breakeven_model.hpp.
#pragma once

#include "breakeven_model.hpp"
#include "machine_costs.hpp"

namespace bench {

// Measured in this process. Nanoseconds. With one CPU only, what further ones cost is 0.
//
// Lines that a grace period moves for each further CPU: the version to it, the line of its record
// from the initiator, which looks at that, and back. What it costs beyond those is work.
synchronization_costs measure_synchronization(sample_count samples);

// Nanoseconds on the paper's machine, a 700 MHz Pentium III; from Table 1 in the slides what is
// there. Grace periods are not: here one takes, on each CPU, the lock that guards the bits of CPUs
// yet to pass (Fig. 13), and brings the line with its number from memory.
constexpr synchronization_costs pentium_costs() {
  constexpr double instruction = 0.7;
  constexpr double line = 162.4;  // main memory
  synchronization_costs of;
  of.local = 163.7;             // CPU-local lock
  of.transfer = 360.9 - 107.3;  // cmpxchg: on another CPU's line, on one's own
  of.read = 2 * instruction;
  of.retire = 20 * instruction;
  of.grace = of.local;
  of.grace_work = of.local;
  of.grace_lines = (of.transfer + line) / of.transfer;
  return of;
}

}  // namespace bench
