#pragma once

#include <string>
#include <vector>

namespace readmost::command {

// Runs `bench` or `report`, which are written in Python: evaluation/ in the sources,
// share/readmost/evaluation once installed. Replaces this process by Python; `words` is our command
// line. Throws failure when Python or a module that it needs is missing.
[[noreturn]] void evaluate(const std::vector<std::string>& words);

}  // namespace readmost::command
