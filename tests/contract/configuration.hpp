// SPDX-License-Identifier: Apache-2.0
// The CTest configuration in which this process runs, taken from the environment variable
// READMOST_CONTRACT.
#pragma once

namespace contract {

enum class configuration {
  glibc,             // nothing preloaded
  readmost,          // libreadmost-pthread.so preloaded
  passthrough,       // libreadmost-lab.so preloaded, with a READMOST_LOCK
  no_membarrier,     // as readmost, and the kernel refuses membarrier(2)
  prefer_writer,     // as readmost, with READMOST_PREFER=writer
  prefer_phase_fair  // as readmost, with READMOST_PREFER=phase-fair
};

// Ends the program with a message when the variable is unset or unknown, because results prove
// nothing unless the lock under test is known.
configuration current();

// Whether the functions operate on Readmost's lock, so that its deliberate differences apply.
bool readmost_rules();

// Whether a lock of kind 0 or 1 lets new readers in while a writer waits, as glibc's does; false
// when the environment selects another policy.
bool readers_pass_waiting_writers();

// Whether the functions are those of a preloaded library.
bool interposed();

// The file name of the library whose functions they are.
const char* provider();

}  // namespace contract
