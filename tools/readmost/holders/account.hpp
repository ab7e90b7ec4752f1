// SPDX-License-Identifier: Apache-2.0
// What the command tells, as text and as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holders/snapshot.hpp"

namespace readmost::command {

struct account {
  std::string title;  // of the process or the core file
  std::string program;
  std::optional<pid_t> process;
  std::optional<std::uint64_t> now;  // CLOCK_MONOTONIC in nanoseconds; none of a core file
  bool is_core = false;
  snapshot found;
  // Where the threads in it are, innermost frame first; only those that are known.
  std::map<pid_t, std::vector<std::string>> stacks;
  std::map<std::uintptr_t, std::string> places;  // of the locks
};

// In 80 columns.
std::string as_page(const account& all);
std::string as_json(const account& all);

// "thread 1234 (worker)".
std::string thread_text(const account& all, pid_t thread);
// A sentence for each deadlock.
std::string as_sentence(const account& all, const wait_cycle& cycle);

std::string_view name_of(held_how how);
std::string_view name_of(waits_to what);

}  // namespace readmost::command
