// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/facts.hpp"
#include "machine/lock_costs.hpp"
#include "machine/timing.hpp"
#include "spread.hpp"

namespace readmost::command {

// Costs of synchronization on this machine, in nanoseconds.
struct synchronization_costs {
  // One way of a cache line that two CPUs write in turn.
  struct transfer {
    int cpu;
    int other;
    std::string nearness;  // empty when unknown
    spread cost;
  };
  // One membarrier(2), back to back, while other threads of the process run or sleep.
  struct fence_of_all {
    std::size_t running;
    std::size_t sleeping;
    spread cost;
  };

  spread store;
  spread fetch_add;
  spread store_and_fence;
  std::vector<transfer> transfers;  // nearest and farthest of a sample; one if there is one pair
  std::vector<fence_of_all> membarriers;
  std::optional<spread> wake;          // from futex_wake until the woken thread runs
  std::optional<lock_costs> readmost;  // readmost::shared_mutex, in this process
};

// The number of measurements that measure_synchronization() does.
unsigned long measurements_of(const machine_facts& machine);

// Calls `done` after each measurement. Leaves out those that need a second CPU or membarrier where
// there is none. Throws std::system_error when a thread cannot be started.
synchronization_costs measure_synchronization(const machine_facts& machine, const effort& much,
                                              const std::function<void()>& done);

// Of one membarrier while another thread of the process sleeps, in nanoseconds. Precondition:
// heavy fences are enabled.
spread cost_of_fence_beside_sleeper(const effort& much);

}  // namespace readmost::command
