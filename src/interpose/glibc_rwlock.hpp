// glibc's own functions, for the locks that are left to it.
#pragma once

#include "interpose/rwlock_functions.hpp"

namespace readmost::detail::interpose {

// Looked up at the first call. Any of them may be null in a libc that lacks it.
const rwlock_functions& glibc() noexcept;

}  // namespace readmost::detail::interpose
