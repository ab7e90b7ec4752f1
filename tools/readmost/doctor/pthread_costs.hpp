// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/lock_costs.hpp"
#include "machine/timing.hpp"

namespace readmost::command {

// The costs of pthread_rwlock_t in a child process, and the library that provides it there.
struct pthread_costs {
  std::string provider;  // the file that contains the functions
  bool is_libc = false;
  std::optional<lock_costs> costs;
  std::string version;  // of our library; empty without it
  std::string problem;  // why there are no costs; empty when there are
};

// In a child process without our library, or with `library` preloaded; with `arguments` this
// command calls measure_pthread_here().
pthread_costs measure_pthread_in_child(const std::string& library,
                                       std::vector<std::string> arguments);

// In the child: measures and prints JSON.
void measure_pthread_here(const effort& much);

std::string as_json(const pthread_costs& costs);  // in one line
std::optional<pthread_costs> pthread_costs_from(const std::string& json);

}  // namespace readmost::command
