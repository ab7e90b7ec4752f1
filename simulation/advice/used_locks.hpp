// SPDX-License-Identifier: Apache-2.0
// What `readmost run --stats` has seen of the locks of a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace readmost::simulation {

struct used_lock {
  std::string name;  // of the variable, if that is known, or where it lies
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  double waited = 0;  // nanoseconds, of all threads together
};

struct observed_program {
  std::string name;
  double seconds = 0;
  std::vector<used_lock> locks;  // those that were used most first
};

// Of a file of statistics (docs/statistics.schema.json): the process that used its locks most.
// Throws std::runtime_error, which says what is wrong with the file.
observed_program read_statistics(const std::string& file);

}  // namespace readmost::simulation
