// SPDX-License-Identifier: Apache-2.0
// What the two sides of asymmetric fences share: see asymmetric_thread_fence.hpp.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// Whether light fences rely on membarrier(2). Never changes back.
extern platform::atomic<bool> light_fences_are_light;

void execute_heavy_fence() noexcept;

}  // namespace readmost::detail
