// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

namespace test {

// Keeps the calling thread, and the threads and processes that it starts meanwhile, on its CPU.
class one_cpu {
 public:
  one_cpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~one_cpu() { sched_setaffinity(0, sizeof before_, &before_); }
  one_cpu(const one_cpu&) = delete;
  one_cpu& operator=(const one_cpu&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace test
