// SPDX-License-Identifier: Apache-2.0
// Whether there are statistics per lock, and a profile.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// Set once and for all by enable_lock_statistics() (src/statistics/lock_statistics.hpp). Only
// the lock's slow paths keep the statistics, so its fast paths then take them.
extern platform::atomic<bool> lock_statistics_on_;
inline bool lock_statistics_on() noexcept {
  return lock_statistics_on_.load(platform::relaxed);
}

// The same for waits and revocations, which statistics count and a contention profile
// (src/statistics/contention_profile.hpp) weighs: true if either is on.
extern platform::atomic<bool> lock_delays_noted_;
inline bool lock_delays_noted() noexcept {
  return lock_delays_noted_.load(platform::relaxed);
}

}  // namespace readmost::detail
