#pragma once

#include "options.hpp"

namespace readmost::command {

// Returns the exit status.
int top(const top_options& options);

}  // namespace readmost::command
