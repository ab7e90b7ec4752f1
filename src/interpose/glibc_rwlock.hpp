// glibc's own functions, for locks that Readmost does not serve.
#pragma once

#include "interpose/rwlock_functions.hpp"

namespace readmost::detail::interpose {

// Looked up at the first call. A function that the C library lacks is null.
const rwlock_functions& glibc() noexcept;

}  // namespace readmost::detail::interpose
