// Which of the four configurations of CTest this process runs in, from the environment variable
// READMOST_CONTRACT.
#pragma once

namespace contract {

enum class configuration {
  glibc,         // nothing preloaded
  readmost,      // libreadmost-pthread.so preloaded
  passthrough,   // preloaded, with READMOST_LOCK=pthread
  no_membarrier  // preloaded, and the kernel refuses membarrier(2)
};

// Ends the program with a message when the variable is unset or unknown: a test that does not know
// whom it tests proves nothing.
configuration current();

// Whether the lock behind the functions is Readmost's, so its deliberate differences apply.
bool readmost_rules();

// Whether the functions are those of libreadmost-pthread.so.
bool interposed();

}  // namespace contract
