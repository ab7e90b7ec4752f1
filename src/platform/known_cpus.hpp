// SPDX-License-Identifier: Apache-2.0
// The number of CPUs, for decisions that are too frequent for a system call and need no more than
// an idea of the machine's size.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// The CPUs that the process could use when this was first called.
inline unsigned known_cpus() noexcept {
  static constinit platform::atomic<unsigned> known{0};
  unsigned cpus = known.load(platform::relaxed);
  if (cpus == 0) [[unlikely]] {
    cpus = platform::usable_cpus();
    known.store(cpus, platform::relaxed);
  }
  return cpus;
}

}  // namespace readmost::detail
