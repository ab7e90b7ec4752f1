// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace readmost::simulation {

// The instructions that repeat(n) executes more for each n: the processor stops after each of
// them. `repeat` is called with some thousands first, which do not count. While other threads run,
// theirs do not count either. Throws std::runtime_error elsewhere than on x86-64.
double instructions_of_each(const std::function<void(unsigned times)>& repeat);

}  // namespace readmost::simulation
