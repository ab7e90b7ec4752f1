// SPDX-License-Identifier: Apache-2.0
// Address space without randomization, for programs whose results depend on addresses.
#pragma once

namespace readmost::simulation {

// The library hashes addresses, also of variables of the program: they must be the same each time.
// Starts the program again, without randomization, unless that is how it runs.
void fix_addresses(char** argv);

}  // namespace readmost::simulation
