// SPDX-License-Identifier: Apache-2.0
// The kernel's half of the scheduler's help: what tools/scheduled/switches.bpf.c does at switches,
// and what happens when the process that keeps it loaded dies.
#pragma once

#include "catalogue.hpp"

namespace readmost::model {

// From now on the library believes the simulated kernel's notes. Before any thread has a record.
void begin_switch_help(scenario& s);

// What it does on the CPU of the calling thread, which does nothing in between.
void switch_out();
void switch_in();

// The latest thread may be switched out and in again once.
void may_be_switched(scenario& s);

// The death of the keeper: the kernel marks its futex, then unloads its half.
void end_keeper();

}  // namespace readmost::model
