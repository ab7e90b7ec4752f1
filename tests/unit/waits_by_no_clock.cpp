// SPDX-License-Identifier: Apache-2.0
// Must not compile: a deadline by something that only resembles a clock. MEMBER: the timed member.
#include <chrono>
#include <readmost/shared_timed_mutex.hpp>

struct stopwatch {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<stopwatch, duration>;
  static time_point now() noexcept { return time_point(duration(0)); }
  // A clock has rep, period and is_steady too.
};

bool wait(readmost::shared_timed_mutex& mutex) {
  return mutex.MEMBER(stopwatch::now());
}
