// SPDX-License-Identifier: Apache-2.0
// The program readmost-scheduled, which is built where libbpf is there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "process/environment.hpp"

namespace readmost::command {

// Whether the kernel can note context switches here, in words.
struct scheduler_answer {
  bool offered = false;
  std::string text;
};
scheduler_answer ask_for_scheduler_help();

// The program that runs `program` with the scheduler's help; its arguments become `program`. What
// was to be preloaded into `program` no longer is into that one. Throws failure 125 when there is
// no such program.
std::filesystem::path with_scheduler_help(std::vector<std::string>& program, environment& env);

}  // namespace readmost::command
