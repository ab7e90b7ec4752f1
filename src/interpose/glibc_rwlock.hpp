// SPDX-License-Identifier: Apache-2.0
// The functions of the C library, glibc or musl, which serve process-shared locks.
#pragma once

#include <readmost/detail/platform/platform.hpp>

#include "interpose/rwlock_functions.hpp"

namespace readmost::detail::interpose {

// Looked up at the first call. A function that the C library lacks is null.
const rwlock_functions& glibc() noexcept;

// What glibc() returns, for code that runs after its first call.
extern rwlock_functions glibc_functions;

// Calls one of them; costs a load and a jump.
template <auto Function>
struct pass_on;
template <class... Arguments, int (*rwlock_functions::*Function)(Arguments...)>
struct pass_on<Function> {
  [[gnu::always_inline]] static int call(Arguments... arguments) noexcept {
    return known.load(platform::relaxed)(arguments...);
  }

 private:
  static int look_up(Arguments... arguments) noexcept {
    known.store(glibc().*Function, platform::relaxed);
    return call(arguments...);
  }
  static inline constinit platform::atomic<int (*)(Arguments...)> known{look_up};
};

}  // namespace readmost::detail::interpose
