// The locks that READMOST_LOCK can put in the place of Readmost's own, as in the interposition
// framework of the BRAVO paper (section 5).
//
// A process-shared lock is glibc's under each of them. Each keeps of pthread's contract what its
// algorithm can: docs/pthread-contract.md says what.
#pragma once

#include "interpose/rwlock_functions.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::detail::interpose {

// For locks that are not Readmost's own: those of the lock that READMOST_LOCK names, or glibc's
// where it names Readmost's. All of them functions of this library.
const rwlock_functions& others() noexcept;

}  // namespace readmost::detail::interpose
