// SPDX-License-Identifier: Apache-2.0
// The processor's own clock, for times shorter than a call of the system's clock.
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {

// Ordered with all instructions before and after it. Agrees on all CPUs where the kernel uses it as
// its clock source.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(now)::"memory");
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Measured once, in 10 ms.
inline double ns_per_tick() {
  static const double found = [] {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const std::uint64_t first = ticks();
    while (clock::now() - begin < std::chrono::milliseconds(10)) {
    }
    const std::uint64_t last = ticks();
    const std::chrono::duration<double, std::nano> lasted = clock::now() - begin;
    return lasted.count() / static_cast<double>(last - first);
  }();
  return found;
}

inline void spin_ticks(std::uint64_t count) {
  const std::uint64_t begin = ticks();
  while (ticks() - begin < count) {
  }
}

}  // namespace bench
