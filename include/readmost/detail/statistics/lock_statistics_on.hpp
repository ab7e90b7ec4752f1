// Whether there are statistics per lock.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// Set once and for all by enable_lock_statistics() (src/statistics/lock_statistics.hpp). The lock's
// slow paths then keep the statistics, and see to it that a slot's reads are those of its lock.
extern platform::atomic<bool> lock_statistics_on_;
inline bool lock_statistics_on() noexcept {
  return lock_statistics_on_.load(platform::relaxed);
}

}  // namespace readmost::detail
