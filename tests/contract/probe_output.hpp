// SPDX-License-Identifier: Apache-2.0
// Runs the probe, a small separate program, as a new process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace contract {

// Returns what the probe prints to standard output, followed by "status N\n" if it fails with N.
// The probe inherits this process's environment; the given variables are added or replaced.
std::string probe_output(const std::vector<std::string>& arguments,
                         const std::vector<std::pair<std::string, std::string>>& environment = {});

}  // namespace contract
