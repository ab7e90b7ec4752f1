// For locks that are broken on purpose: succeeds as soon as one scenario fails.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace torture {

// Runs the scenarios in processes of their own, so that a hang or a crash ends only that one.
// Returns 0 when one of them reported a violation, hung or crashed, else 1.
int expect_failure(const std::string& lock, const std::vector<std::string>& scenarios,
                   const options& chosen, unsigned rounds);

}  // namespace torture
