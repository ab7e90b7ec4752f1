// SPDX-License-Identifier: Apache-2.0
// Nobody observes the locks of the checker.
#include "threads/parts.hpp"

namespace readmost::detail {

extern part observation_part;
constinit part observation_part{};

}  // namespace readmost::detail
