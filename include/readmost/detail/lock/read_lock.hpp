// SPDX-License-Identifier: Apache-2.0
// The read lock and unlock of a surface, put together from the paths of rwlock.hpp.
//
// A surface inlines the passive paths, and continues, if they fail, in functions of its own that
// are not inlined: the passive path, which suffices for most calls, thus saves no registers. The
// active paths are such functions, which end in calls that need no stack frame either.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// For use after a failed passive attempt: read-locks if no writer is in the way, and the caller
// needs nothing but a free slot. `rules_of`: a function that returns the rules when they are
// needed.
template <class RulesOf>
bool lock_shared_after(passive_attempt attempt, rwlock& lock, thread_record& me,
                       RulesOf rules_of) noexcept {
  if (attempt > passive_attempt::unavailable) {
    retract_published(lock, attempt);
  } else if ((lock.state.load(platform::relaxed) & rwlock::any_bias) != 0) {
    return lock_shared_nested(lock, me);
  }
  const active_attempt then = lock_shared_actively<true>(lock, me);
  if (then == active_attempt::account_due) update_account(lock, rules_of());
  return then != active_attempt::unavailable;
}

// Read-locks actively, as lock_shared_actively(). Returns 0, what settle() returns if the account
// is due, or what otherwise() does if the lock is not to be had like that.
template <bool Noted, class Settle, class Otherwise>
[[gnu::always_inline]] inline int read_lock_actively(rwlock& lock, thread_record& me, Settle settle,
                                                     Otherwise otherwise) noexcept {
  switch (lock_shared_actively<Noted>(lock, me)) {
    case active_attempt::acquired:
      return 0;
    case active_attempt::account_due:
      return settle();
    case active_attempt::unavailable:
      break;
  }
  return otherwise();
}

}  // namespace readmost::detail
