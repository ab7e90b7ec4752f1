// SPDX-License-Identifier: Apache-2.0
// Fences of the classic algorithms, which have no letters.
#pragma once

#include <readmost/detail/platform/platform.hpp>

#include "engine/execution.hpp"

namespace readmost::model {

inline void fence(std::memory_order order, platform::place at = platform::place::current()) {
  execution::current()->fence(order, at);
}

}  // namespace readmost::model
