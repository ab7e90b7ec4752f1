// SPDX-License-Identifier: Apache-2.0
// The functions of the C library, glibc or musl, which serve process-shared locks.
#pragma once

#include <readmost/detail/platform/platform.hpp>

#include "interpose/rwlock_functions.hpp"

namespace readmost::detail::interpose {

// What glibc() returns, for code that runs after its first call.
extern rwlock_functions glibc_functions;
extern platform::atomic<bool> glibc_looked_up;
void look_up_glibc() noexcept;

// Looked up at the first call. A function that the C library lacks is null.
inline const rwlock_functions& glibc() noexcept {
  if (!glibc_looked_up.load(platform::acquire)) [[unlikely]]
    look_up_glibc();
  return glibc_functions;
}

}  // namespace readmost::detail::interpose
