// SPDX-License-Identifier: Apache-2.0
// The locks that READMOST_LOCK can select instead of Readmost's own, as in the interposition
// framework of the BRAVO paper (section 5).
//
// glibc always serves process-shared locks. Each algorithm fulfils as much of pthread's contract as
// it can: see docs/pthread-contract.md.
#pragma once

#include "interpose/rwlock_functions.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::detail::lab {

// Its functions, for any lock but Readmost's own.
const interpose::rwlock_functions& functions_of(lock_choice lock) noexcept;

}  // namespace readmost::detail::lab
