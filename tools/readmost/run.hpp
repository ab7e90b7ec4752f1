#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace readmost::command {

// Replaces this process by the program; returns only by throwing failure.
[[noreturn]] void run(const run_options& options, std::vector<std::string> program);

}  // namespace readmost::command
