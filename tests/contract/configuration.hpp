// The CTest configuration in which this process runs, taken from the environment variable
// READMOST_CONTRACT.
#pragma once

namespace contract {

enum class configuration {
  glibc,             // nothing preloaded
  readmost,          // libreadmost-pthread.so preloaded
  passthrough,       // preloaded, with READMOST_LOCK=pthread
  no_membarrier,     // preloaded, and the kernel refuses membarrier(2)
  prefer_writer,     // preloaded, with READMOST_PREFER=writer
  prefer_phase_fair  // preloaded, with READMOST_PREFER=phase-fair
};

// Ends the program with a message when the variable is unset or unknown, because results prove
// nothing unless the lock under test is known.
configuration current();

// Whether the functions operate on Readmost's lock, so that its deliberate differences apply.
bool readmost_rules();

// Whether a lock of kind 0 or 1 lets new readers in while a writer waits, as glibc's does; false
// when the environment selects another policy.
bool readers_pass_waiting_writers();

// Whether the functions are those of libreadmost-pthread.so.
bool interposed();

}  // namespace contract
