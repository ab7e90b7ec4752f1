// What a simulated run has measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/coherence.hpp"
#include "simulation/machine_description.hpp"

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
  void merge(const latencies& others);

 private:
  mutable std::vector<duration> times_;
  mutable bool sorted_ = true;
};

struct measurement {
  std::string machine;
  std::string lock;
  std::string workload;
  unsigned threads = 0;
  std::uint64_t seed = 0;
  double ghz = 1;

  duration measured = 0;   // the time in which these were counted
  latencies reads;         // lock and unlock of a reader, without what it did inside
  latencies writes;        // of a writer; of workloads of RCU: grace periods
  duration spent[7] = {};  // by all threads: simulated_thread::spent
  std::uint64_t interrupts = 0;
  std::vector<hot_line> lines;
};

}  // namespace readmost::simulation
