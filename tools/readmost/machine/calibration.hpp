// SPDX-License-Identifier: Apache-2.0
// What a simulated machine needs to know of this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine/facts.hpp"
#include "machine/timing.hpp"
#include "machine/topology.hpp"

namespace readmost::command {

inline constexpr unsigned long most_simulated_cpus = 512;

struct calibration {
  // One value of a machine file, in cycles unless it is a count or a frequency.
  struct figure {
    std::string name;  // its path in the file, as in latency.memory
    double value;
    bool measured;
    std::string source;
  };

  std::string description;
  std::string order;  // "tso" or "arm"
  cpu_topology topology;
  std::string topology_source;
  std::vector<figure> figures;  // in the order of the file; the first is ghz
};

inline constexpr unsigned long measurements_of_calibration = 17;

// Calls `done` after each measurement. What cannot be measured here is estimated, and its source
// says so. Throws failure if the machine is larger than one that can be simulated, and
// std::system_error when a thread cannot be started.
calibration calibrate(const machine_facts& machine, const effort& much,
                      const std::function<void()>& done);

std::string as_machine_file(const calibration& result, const std::string& name);

}  // namespace readmost::command
