// SPDX-License-Identifier: Apache-2.0
// Runs a command without the settings of the tests' own environment.
#pragma once

#include <string>

#include "support/shell.hpp"

namespace readmost::tools_test {

using test::outcome;

inline outcome run(const std::string& command) {
  return test::run_in_shell("unset READMOST_LOCK_CHECK READMOST_STATS; exec env " + command);
}

}  // namespace readmost::tools_test
