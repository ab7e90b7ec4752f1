// SPDX-License-Identifier: Apache-2.0
// The rare side of asymmetric fences.
//
// A light fence that reads `light_fences_are_light` as true is covered by the membarrier of every
// heavy one: nobody sets it before membarriers work. One that reads it as false is a full fence,
// and so is every heavy one. If the kernel refuses membarriers later, which a seccomp filter may
// have it do, a heavy fence runs on each CPU in turn instead.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <readmost/detail/platform/asymmetric_fence.hpp>

#include "platform/cpu_mask.hpp"
#include "platform/errno_kept.hpp"

namespace readmost::detail {

platform::atomic<bool> light_fences_are_light{false};

namespace {

// Whether a heavy fence has found that the process has no membarriers.
platform::atomic<bool> all_are_full{false};

[[noreturn]] void end_with_message() noexcept {
  const char* const text =
      "readmost: asymmetric_thread_fence_heavy: the kernel refuses membarrier(2), which it allowed "
      "before, and sched_setaffinity(2), which could replace it; light fences relied on one\n";
  platform::write_text(nullptr, text, std::strlen(text));
  std::abort();
}

// Runs on each CPU in turn. A thread that ran there has then been switched from, and one that has
// gone to a CPU that this thread has left has been switched to; either is a full fence. Leaves out
// CPUs that are offline or that the thread must not use: threads of the process in another cpuset
// would have to be there alone.
bool visit_all_cpus() noexcept {
  platform::cpu_mask before;
  if (!before.get(0)) return false;
  bool refused = false;
  platform::cpu_mask one;
  for (std::size_t cpu = 0; cpu < before.size() && !refused; ++cpu) {
    one.only(cpu, before);
    refused = !one.set() && errno != EINVAL;
  }
  return before.set() && !refused;
}

bool fence_all_threads() noexcept {
  // A process may lose its registration, as the child of a fork does.
  return platform::heavy_fence() || (platform::enable_heavy_fence() && platform::heavy_fence());
}

// For light fences that rely on it.
void fence_all_threads_by_all_means() noexcept {
  const platform::errno_kept kept;
  if (!fence_all_threads() && !visit_all_cpus()) end_with_message();
}

}  // namespace

void execute_heavy_fence() noexcept {
  platform::full_fence();
  if (!light_fences_are_light.load(platform::relaxed)) {
    if (all_are_full.load(platform::relaxed)) return;
    if (!fence_all_threads()) {
      // Another thread may have been allowed what this one is not.
      all_are_full.store(!light_fences_are_light.load(platform::relaxed), platform::relaxed);
      if (!light_fences_are_light.load(platform::relaxed)) return;
      fence_all_threads_by_all_means();
    }
    light_fences_are_light.store(true, platform::relaxed);
  } else {
    fence_all_threads_by_all_means();
  }
  platform::full_fence();
}

}  // namespace readmost::detail
