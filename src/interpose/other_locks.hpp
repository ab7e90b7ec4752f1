// The locks that READMOST_LOCK can select instead of Readmost's own, as in the interposition
// framework of the BRAVO paper (section 5).
//
// glibc always serves process-shared locks. Each algorithm fulfils as much of pthread's contract as
// it can: see docs/pthread-contract.md.
#pragma once

#include "interpose/rwlock_functions.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::detail::interpose {

// The functions for locks that Readmost does not serve: those of the class that READMOST_LOCK
// names, or glibc's if it names Readmost's. All are functions of this library.
const rwlock_functions& others() noexcept;

}  // namespace readmost::detail::interpose
