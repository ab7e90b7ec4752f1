// SPDX-License-Identifier: Apache-2.0
// Writes of a thread that is alone in the index of its domain: nobody else can hold a lock
// passively, so a biased one is taken and given back by three compare-and-swaps, and the bias pays
// beside many writes.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// Locks a biased lock that nobody waits for, without a consensus. False, and nothing is held, if
// another thread may hold it. `me`: the caller's record in the lock's domain.
bool lock_exclusive_alone(rwlock& lock, thread_record& me, rules how) noexcept;

// Unlocks a lock whose bias the caller has taken away, and gives it back, if nobody waits and it is
// worth keeping. Else false, and the caller still holds it.
bool unlock_exclusive_with_bias(rwlock& lock) noexcept;

}  // namespace readmost::detail
