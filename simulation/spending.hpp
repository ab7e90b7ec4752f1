// SPDX-License-Identifier: Apache-2.0
// What a simulated thread's time goes by on.
#pragma once

#include <cstdint>

namespace readmost::simulation {

enum class spending : std::uint8_t {
  instructions,  // including loads that hit
  transfers,     // of cache lines
  buffer,        // until the store buffer is empty or has room
  kernel,
  interrupts,
  asleep,
  ready,  // another thread has the CPU
};
inline constexpr unsigned spendings = 7;
const char* name_of(spending on) noexcept;

}  // namespace readmost::simulation
