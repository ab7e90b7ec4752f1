// Runs the probe, a small program of its own, as a new process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace contract {

// What the probe prints to standard output; ends in "status N\n" when it fails with N. It inherits
// this process's environment, with the given variables on top.
std::string probe_output(const std::vector<std::string>& arguments,
                         const std::vector<std::pair<std::string, std::string>>& environment = {});

}  // namespace contract
