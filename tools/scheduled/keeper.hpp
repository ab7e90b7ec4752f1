// SPDX-License-Identifier: Apache-2.0
// The process that keeps the kernel's half loaded while the program runs.
#pragma once

#include <string>

#include "threads/switch_notes_layout.h"

namespace readmost::scheduled {

// Starts it. It is nobody's child that the program could meet, keeps what this process has loaded,
// and ends when this process has ended, whatever program that becomes. It holds the robust futex of
// the notes, which the kernel marks before it unloads anything, even if the keeper is killed.
// Returns why it could not be started; empty if it runs.
std::string start_keeper(readmost_switch_header& header);

}  // namespace readmost::scheduled
