// SPDX-License-Identifier: Apache-2.0
// The domains of the C functions, for all of these.
#pragma once

#include <readmost_rcu.h>

#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// The domain inside; the process's for null.
domain& core_of(const readmost_rcu_domain* domain) noexcept;

}  // namespace readmost::detail
