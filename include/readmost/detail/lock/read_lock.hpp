// The read lock and unlock of a surface, put together from the paths of rwlock.hpp.
//
// A surface inlines lock_shared_passively() and try_unlock_shared_passive(), and continues, if they
// fail, in a function of its own that is not inlined: the passive path, which suffices for most
// calls, thus saves no registers.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// For use after a failed passive attempt: read-locks if no writer is in the way and the caller
// needs nothing but a free slot. `how`: rules, or a function that returns them when they are
// needed.
template <class How>
bool lock_shared_after(passive_attempt attempt, rwlock& lock, thread_record& me, How how) noexcept {
  if (attempt == passive_attempt::published) {
    retract_published(lock);
  } else if ((lock.state.load(platform::relaxed) & rwlock::any_bias) != 0) {
    return lock_shared_nested(lock, me);
  }
  return try_lock_shared_active(lock, me, how);
}

// Read-locks passively or actively, if that is possible at once.
template <class How>
bool try_lock_shared_fast(rwlock& lock, thread_record& me, How how) noexcept {
  const passive_attempt attempt = lock_shared_passively(lock, me);
  return attempt == passive_attempt::acquired || lock_shared_after(attempt, lock, me, how);
}

// Releases a read hold after try_unlock_shared_passive() has failed; false if the lock has none.
inline bool unlock_shared_after(rwlock& lock, thread_record& me) noexcept {
  return (me.nested.load(platform::relaxed) == 0 && try_unlock_shared_active(lock, me)) ||
         unlock_shared_slow(lock);
}

}  // namespace readmost::detail
