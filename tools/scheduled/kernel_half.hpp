// SPDX-License-Identifier: Apache-2.0
// Loads switches.bpf.c into the kernel.
#pragma once

#include <string>

#include "threads/switch_notes_layout.h"

namespace readmost::scheduled {

// Attached to the context switches until this process, and every process that inherits it, has
// ended.
struct kernel_half {
  readmost_switch_notes* notes = nullptr;
  int file = -1;        // of the notes; closed by exec
  std::string problem;  // why there is none; empty if there is
};

// For switches of this process, whatever program it becomes.
kernel_half load_kernel_half();

}  // namespace readmost::scheduled
