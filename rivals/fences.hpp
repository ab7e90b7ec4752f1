// SPDX-License-Identifier: Apache-2.0
// The asymmetric fence without a letter, for locks that are not the library's: no mutant weakens
// it.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace rivals {

#if defined(READMOST_SIMULATED)
// On the simulated machine; model/scenarios/rivals.cpp has them.
inline void light_fence() noexcept {}
bool heavy_fence() noexcept;
#else
// As in readmost/platform.hpp.
inline void light_fence() noexcept {
  readmost::detail::platform::light_fence();
}
// The child of a fork has to register for it again.
inline bool heavy_fence() noexcept {
  namespace platform = readmost::detail::platform;
  return platform::heavy_fence() || (platform::enable_heavy_fence() && platform::heavy_fence());
}
#endif

// Whether this process has it; asks once. Without it the locks that need it keep all readers on
// their slow paths.
namespace detail {
inline constinit readmost::detail::platform::atomic<int> heavy_fence_state{0};
}
inline bool has_heavy_fence() noexcept {
  int state = detail::heavy_fence_state.load(readmost::detail::platform::relaxed);
  if (state == 0) {
    state = readmost::detail::platform::enable_heavy_fence() ? 1 : -1;
    detail::heavy_fence_state.store(state, readmost::detail::platform::relaxed);
  }
  return state > 0;
}

// The fence may stop working when a program installs a seccomp filter late. Then this sleeps, so
// that every thread executes a fence of its own meanwhile, and has_heavy_fence() is false from now
// on.
inline void heavy_fence_or_time() noexcept {
  if (heavy_fence()) return;
  detail::heavy_fence_state.store(-1, readmost::detail::platform::relaxed);
  readmost::detail::platform::sleep_for(10'000'000);
}

}  // namespace rivals
