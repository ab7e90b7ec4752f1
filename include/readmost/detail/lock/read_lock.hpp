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

// Read-locks passively or actively, if that is possible at once.
template <class RulesOf>
bool try_lock_shared_fast(rwlock& lock, thread_record& me, RulesOf rules_of) noexcept {
  const passive_attempt attempt =
      is_biased(lock) ? lock_shared_passively(lock, me) : passive_attempt::unavailable;
  return attempt == passive_attempt::acquired || lock_shared_after(attempt, lock, me, rules_of);
}

// Releases a read hold after try_unlock_shared_passive() has failed; false if the lock has none.
inline bool unlock_shared_after(rwlock& lock, thread_record& me) noexcept {
  return (!has_nested_holds(me) && try_unlock_shared_active<true>(lock, me)) ||
         unlock_shared_slow(lock);
}

}  // namespace readmost::detail
