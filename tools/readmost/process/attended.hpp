// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "process/environment.hpp"

namespace readmost::command {

// Runs a program as if this process were replaced by it, except that this process stays: the
// program has its descriptors, its process group and its terminal, and receives the signals that
// are sent to this one. Returns its status as of waitpid(2). Throws failure if it cannot be
// executed.
int run_attended(const std::filesystem::path& program, std::vector<std::string> words,
                 environment env);

// Ends this process as a program with this status has ended: by the same signal if that was its
// end.
[[noreturn]] void end_like(int status);

}  // namespace readmost::command
