#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lock_costs.hpp"
#include "measuring.hpp"

namespace readmost::command {

// What pthread_rwlock_t costs in a process of its own, and whose it is there.
struct pthread_costs {
  std::string provider;  // the file that the functions come from
  bool is_libc = false;
  std::optional<lock_costs> costs;
  std::string version;  // of our library; empty without it
  std::string problem;  // not empty when there are no costs, and why
};

// In a child process without our library, or with `library` preloaded; `arguments` is how this
// command is told to do measure_pthread_here().
pthread_costs measure_pthread_in_child(const std::string& library,
                                       std::vector<std::string> arguments);

// The child's part: measures and prints one line of JSON.
void measure_pthread_here(const effort& much);

}  // namespace readmost::command
