// SPDX-License-Identifier: Apache-2.0
// What a contention profile of the library says: readable stacks, weighed by the time lost.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "statistics/contention_profile.hpp"
#include "symbols.hpp"

namespace readmost::command {

// A copy of the library's table. Its atomics are read by load() only.
using profile_copy = std::unique_ptr<detail::profile_table>;

// The table in a file that the library wrote; null if it has not written it, or, after one line on
// stderr, if another build of the library has.
profile_copy profile_in_file(const std::filesystem::path& file);

// What a table says, or what has been added to it since an earlier copy of it.
struct taken_profile {
  profile_copy table;
  profile_copy earlier;  // null: none
};

// One line on stderr: the table of a process is not shown.
void warn_of_other_build(int process);

struct contention_frame {
  std::uintptr_t address = 0;
  std::vector<function_name> functions;  // innermost first
};

struct contention_stack {
  std::string lock;
  std::string deed;                      // "waits to read"
  std::vector<contention_frame> frames;  // innermost first, from the program's call on
  std::uint64_t nanoseconds = 0;
  std::uint64_t events = 0;
};

struct process_profile {
  std::string program;
  int process = 0;
  std::shared_ptr<symbols> names;
  std::vector<contention_stack> stacks;
};

// What the tables of one program say, of which each copy of the library in it has one. `root`: as
// for symbols. Precondition: there is one.
process_profile readable(const std::vector<taken_profile>& tables, const std::string& root);

}  // namespace readmost::command
