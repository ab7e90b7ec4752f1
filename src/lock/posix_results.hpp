// SPDX-License-Identifier: Apache-2.0
// The results of lock operations as POSIX error numbers, for the C API and the pthread functions.
#pragma once

#include <cerrno>
#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

constexpr int as_errno(outcome o) noexcept {
  switch (o) {
    case outcome::acquired:
      return 0;
    case outcome::busy:
      return EBUSY;
    case outcome::timed_out:
      return ETIMEDOUT;
    case outcome::overflow:
      return EAGAIN;
  }
  return EINVAL;
}

// Whether POSIX allows to wait until then.
constexpr bool is_valid(clockid_t clock, const timespec* at) noexcept {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && at->tv_nsec >= 0 &&
         at->tv_nsec < 1'000'000'000;
}

}  // namespace readmost::detail
