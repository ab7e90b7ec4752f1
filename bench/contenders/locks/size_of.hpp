// SPDX-License-Identifier: Apache-2.0
// How much memory a lock takes.
#pragma once

#include <cstddef>

#include "contenders/locks/holder.hpp"

namespace bench {

// In bytes.
struct lock_size {
  std::size_t itself;                   // sizeof
  std::size_t here;                     // with its allocations on this machine
  std::size_t on_72_cpus_and_2_nodes;   // with its allocations on the BRAVO paper's machine
  std::size_t of_each_thread_for_each;  // per thread and lock
  std::size_t of_each_thread;           // per thread, for all locks of the kind
  std::size_t of_the_process;           // once, for all locks of the kind
};

// For locks that share nothing among them and keep nothing for all locks of a thread.
template <class Lock>
struct size_of_lock_alone {
  static std::size_t on(unsigned cpus, [[maybe_unused]] unsigned nodes) {
    if constexpr (requires { Lock::footprint(cpus); }) {
      return Lock::footprint(cpus);
    } else {
      return sizeof(Lock);
    }
  }
  static std::size_t of_each_thread_for_each() {
    if constexpr (requires { holder<Lock>::thread_bytes; }) {
      return holder<Lock>::thread_bytes;
    } else {
      return 0;
    }
  }
  static std::size_t of_each_thread() { return 0; }
  static std::size_t of_the_process() { return 0; }
};

// Other locks specialize it.
template <class Lock>
struct size_of : size_of_lock_alone<Lock> {};

}  // namespace bench
