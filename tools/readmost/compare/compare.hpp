#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace readmost::command {

// Returns the exit status.
int compare(const compare_options& options, std::vector<std::string> program);

}  // namespace readmost::command
