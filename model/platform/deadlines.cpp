// SPDX-License-Identifier: Apache-2.0
// Deadlines on either simulated machine, by its clock.
#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::platform {

namespace {

constexpr std::uint64_t second = 1'000'000'000;

}  // namespace

std::uint64_t nanoseconds_of(const deadline& until) noexcept {
  return static_cast<std::uint64_t>(until.at.tv_sec) * second +
         static_cast<std::uint64_t>(until.at.tv_nsec);
}

std::uint64_t time_left(const deadline& until) noexcept {
  const std::uint64_t at = nanoseconds_of(until);
  const std::uint64_t present = now();
  return at > present ? at - present : 0;
}

deadline in(std::uint64_t nanoseconds) noexcept {
  const std::uint64_t at = now() + nanoseconds;
  return {CLOCK_MONOTONIC, {static_cast<time_t>(at / second), static_cast<long>(at % second)}};
}

}  // namespace readmost::detail::platform
