// SPDX-License-Identifier: Apache-2.0
// What a simulated run has measured.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/coherence.hpp"
#include "simulation/machine_description.hpp"
#include "simulation/spending.hpp"

namespace readmost::simulation {

// How long operations of one kind took.
class latencies {
 public:
  void add(duration time) {
    times_.push_back(time);
    sorted_ = false;
  }
  std::uint64_t count() const { return times_.size(); }
  // `share`: 0.5 for the median, 1 for the longest; 0 if there is none.
  duration quantile(double share) const;
  double mean() const;

 private:
  mutable std::vector<duration> times_;
  mutable bool sorted_ = true;
};

struct measurement {
  duration measured = 0;           // the time in which these were counted
  latencies reads;                 // lock and unlock of a reader, without what it did inside
  latencies writes;                // of a writer; of workloads of RCU: grace periods
  duration spent[spendings] = {};  // by all threads
  std::uint64_t interrupts = 0;
  std::uint64_t accesses = 0;  // to memory, by all threads
  std::vector<hot_line> lines;
};

}  // namespace readmost::simulation
