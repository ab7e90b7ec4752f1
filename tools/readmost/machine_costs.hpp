#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lock_costs.hpp"
#include "machine_facts.hpp"
#include "measuring.hpp"
#include "summary.hpp"

namespace readmost::command {

// What things cost on this machine, in nanoseconds.
struct machine_costs {
  // A cache line that two CPUs write in turn: one way.
  struct transfer {
    int cpu;
    int other;
    std::string nearness;  // empty when unknown
    spread cost;
  };
  // One membarrier(2), as often as can be, while other threads of the process run or sleep.
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

// How many measurements costs_of_this_machine() does.
unsigned long measurements_of(const machine_facts& machine);

// Calls `done` after each of them. Leaves out what the machine does not have: a second CPU, a
// membarrier. Throws std::system_error when there cannot be so many threads.
machine_costs costs_of_this_machine(const machine_facts& machine, const effort& much,
                                    const std::function<void()>& done);

nlohmann::ordered_json as_json(const machine_costs& costs);

}  // namespace readmost::command
