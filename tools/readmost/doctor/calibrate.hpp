// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands.hpp"
#include "machine/timing.hpp"

namespace readmost::command {

// Measures this machine, writes a machine file and tells what it says. Throws failure, before it
// measures, when the file cannot be written.
void write_machine_file(const doctor_options& options, const effort& much);

}  // namespace readmost::command
