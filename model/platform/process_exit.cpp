// SPDX-License-Identifier: Apache-2.0
// Processes are not simulated.
#include "rcu/reclamation.hpp"

namespace readmost::detail {

void watch_process_exit() noexcept {}

}  // namespace readmost::detail
