// SPDX-License-Identifier: Apache-2.0
// The break-even contours of the RCU paper (6.2, Figs. 28 and 29) for a machine: up to which share
// of updates RCU, a lock for each CPU or a spinlock is the cheapest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "simulation/advice/breakeven_model.hpp"
#include "simulation/machine_description.hpp"

namespace readmost::simulation {

struct contour {
  std::string name;                               // one of `comparisons`
  std::vector<std::pair<double, double>> points;  // (x, share of updates)
};

struct contour_plot {
  std::string title;
  std::string x;
  std::vector<contour> contours;
};

// A lock of the user's.
struct contour_mark {
  std::string name;
  double cpus = 1;
  double share = 0;  // of its uses that are writes
};

struct contour_set {
  std::string machine;  // its name
  unsigned cpus = 1;
  synchronization_costs costs;  // in cycles
  std::vector<contour_plot> plots;
  std::vector<contour_mark> marks;
};

// The costs of the model on a machine, in cycles: a lock is taken by one read-modify-write and left
// by a store; a transfer is the mean one between two CPUs; those of Readmost's RCU are simulated,
// which takes a second. `processes`: runs at a time.
synchronization_costs costs_of(const machine_description& on, unsigned processes);

// By CPUs, and by latency with the machine's own CPUs.
contour_set contours_of(const machine_description& on, const synchronization_costs& costs);

// The share of updates up to which RCU is the cheapest on all of the machine's CPUs.
double region_of_rcu(const contour_set& of, double rate);

nlohmann::json as_json(const contour_set& of);
// For a browser: text stays text, and colours fit light and dark pages.
std::string as_svg(const contour_set& of);

}  // namespace readmost::simulation
