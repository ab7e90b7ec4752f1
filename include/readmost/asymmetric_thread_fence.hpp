// SPDX-License-Identifier: Apache-2.0
// Asymmetric fences in the shape of P1202 (concurrency TS 2): the frequent side pays nothing, the
// rare side pays for both.
//
//   void reader() {                                 void writer() {
//     mine.store(1, relaxed);                         theirs.store(1, relaxed);
//     asymmetric_thread_fence_light(seq_cst);         asymmetric_thread_fence_heavy(seq_cst);
//     if (theirs.load(relaxed) == 0) ...              if (mine.load(relaxed) == 0) ...
//   }                                               }
//
// At least one of the two finds the other's store.
//
// A light fence and a heavy one, or two heavy ones, order as two std::atomic_thread_fence() of the
// same orders would. Two light ones order nothing: each keeps the compiler alone from reordering.
//
// Cost: light a load and a branch; heavy one membarrier(2), 0.1 us if no other CPU runs the
// process, about 2 us otherwise. Both are full fences where the process may not use membarrier(2),
// and light ones until the first heavy one has found out.
//
// Progress: light is wait-free; heavy waits for nothing but the kernel. Thread and signal safety:
// both. If the kernel refuses membarrier(2) after it had allowed it, a heavy fence runs on each CPU
// in turn, which takes up to 0.5 ms for each that is busy; if it refuses that too, the program ends
// with a message, since light fences that lie in the past could not be made good.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <atomic>
#include <readmost/detail/platform/asymmetric_fence.hpp>

namespace readmost {

// No effect if `order` is relaxed. All other orders cost the same.
inline void asymmetric_thread_fence_light(std::memory_order order) noexcept {
  if (order == std::memory_order_relaxed) return;
  if (detail::light_fences_are_light.load(std::memory_order_relaxed)) [[likely]] {
    detail::platform::light_fence();
  } else {
    detail::platform::full_fence();
  }
}

inline void asymmetric_thread_fence_heavy(std::memory_order order) noexcept {
  if (order != std::memory_order_relaxed) detail::execute_heavy_fence();
}

}  // namespace readmost
