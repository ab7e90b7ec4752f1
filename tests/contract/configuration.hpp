// Which of the configurations of CTest this process runs in, from the environment variable
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

// Ends the program with a message when the variable is unset or unknown: a test that does not know
// whom it tests proves nothing.
configuration current();

// Whether the lock behind the functions is Readmost's, so its deliberate differences apply.
bool readmost_rules();

// Whether a lock of kind 0 or 1 lets new readers in while a writer waits, as glibc's does: not
// where the environment has chosen another policy.
bool readers_pass_waiting_writers();

// Whether the functions are those of libreadmost-pthread.so.
bool interposed();

}  // namespace contract
