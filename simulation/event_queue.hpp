// SPDX-License-Identifier: Apache-2.0
// What happens next on the simulated machine, in the order of time; at the same time, in the order
// in which it was planned.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "simulation/machine_description.hpp"

namespace readmost::simulation {

// Since the machine was started.
using instant = std::uint64_t;

struct event {
  enum class kind : std::uint8_t {
    run,        // a thread goes on
    time_out,   // a thread's sleep ends at its deadline
    drain,      // a store buffer's oldest entry reaches its line
    drained,    // ... and the next may
    interrupt,  // reaches a CPU
    steal,      // a hypervisor takes a CPU away
  };
  instant at = 0;
  std::uint64_t order = 0;
  kind what = kind::run;
  std::uint32_t whom = 0;  // the number of a thread or of a CPU
  std::uint64_t number =
      0;  // run, time_out: of the thread's sleep or wait; it is void if that is over
};

class event_queue {
 public:
  void add(instant at, event::kind what, std::uint32_t whom, std::uint64_t number = 0) {
    events_.push({at, next_++, what, whom, number});
  }
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  // Precondition: not empty.
  instant first() const { return events_.top().at; }
  event take() {
    const event made = events_.top();
    events_.pop();
    return made;
  }

 private:
  struct later {
    bool operator()(const event& one, const event& other) const {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  std::priority_queue<event, std::vector<event>, later> events_;
  std::uint64_t next_ = 0;
};

}  // namespace readmost::simulation
