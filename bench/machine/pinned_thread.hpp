// SPDX-License-Identifier: Apache-2.0
// Pinned threads, for measurements between two CPUs. Contenders are never pinned.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <vector>

namespace bench {

// The CPUs that the calling thread may run on.
inline std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) found.push_back(cpu);
  }
  return found;
}

// Pins the calling thread to a CPU during the lifetime of the object.
class pinned {
 public:
  explicit pinned(int cpu) {
    CPU_ZERO(&before_);
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(cpu), &only);
    sched_setaffinity(0, sizeof(only), &only);
  }
  ~pinned() { sched_setaffinity(0, sizeof(before_), &before_); }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace bench
