// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/contention.hpp"
#include "top/target.hpp"

namespace readmost::command {

// A copy of the process's profile as it is now. Throws failure if the process keeps none.
profile_copy profile_of(top_target& target);

}  // namespace readmost::command
