// SPDX-License-Identifier: Apache-2.0
// Runs scenarios on deliberately broken locks and succeeds as soon as one scenario fails.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace torture {

// Runs the scenarios in separate processes, so that a hang or a crash ends only that process.
// Returns 0 when a scenario reported a violation, hung or crashed, otherwise 1.
int expect_failure(const std::string& lock, const std::vector<std::string>& scenarios,
                   const options& chosen, unsigned rounds);

}  // namespace torture
