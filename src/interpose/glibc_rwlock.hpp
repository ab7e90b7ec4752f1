// SPDX-License-Identifier: Apache-2.0
// The functions of the C library, glibc or musl, which serve process-shared locks.
#pragma once

#include "interpose/rwlock_functions.hpp"

namespace readmost::detail::interpose {

// Looked up at the first call. A function that the C library lacks is null.
const rwlock_functions& glibc() noexcept;

// What glibc() returns, for code that runs after its first call.
extern rwlock_functions glibc_functions;

}  // namespace readmost::detail::interpose
