// SPDX-License-Identifier: Apache-2.0
// The files in which contention profiles are kept: collapsed stacks, pprof, flame graphs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "output_file.hpp"
#include "profile/contention.hpp"

namespace readmost::command {

enum class profile_format { collapsed, pprof, flame_graph };

// Where a profile is to be written.
class profile_file {
 public:
  // Throws failure, which names the option, if the ending says no format, the file cannot be
  // written, or the flame graph's tool is missing.
  explicit profile_file(const std::string& name);

  // Throws failure.
  void write(const std::vector<process_profile>& processes, double seconds);

 private:
  [[maybe_unused]] profile_format format_;
  std::filesystem::path tool_;  // of flame graphs
  output_file file_;
};

// A line for each stack: "lock;outermost;...;innermost;deed nanoseconds".
std::string as_collapsed(const std::vector<process_profile>& processes);

// A message of profile.proto, compressed by gzip.
std::string as_pprof(const std::vector<process_profile>& processes, double seconds);

}  // namespace readmost::command
