// The read lock and unlock of a surface, put together from the paths of rwlock.hpp.
//
// A surface inlines lock_shared_passively() and try_unlock_shared_passive(), and continues, if they
// fail, in a function of its own that is not inlined: the passive path, which suffices for most
// calls, thus saves no registers.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// For use after a failed passive attempt: read-locks actively if no writer is in the way. `how`:
// rules, or a function that returns them when they are needed.
template <class How>
bool lock_shared_after(passive_attempt attempt, rwlock& lock, thread_record& me, const domain& d,
                       How how) noexcept {
  if (attempt == passive_attempt::published) retract_published(lock);
  return try_lock_shared_active(lock, me, d, how);
}

// Read-locks passively or actively, if that is possible at once.
template <class How>
bool try_lock_shared_fast(rwlock& lock, thread_record& me, const domain& d, How how) noexcept {
  const passive_attempt attempt = lock_shared_passively(lock, me);
  return attempt == passive_attempt::acquired || lock_shared_after(attempt, lock, me, d, how);
}

// Releases a read hold that is not a passive one in its home slot; false if the lock has none.
inline bool unlock_shared_after(rwlock& lock, thread_record& me) noexcept {
  return try_unlock_shared_active(lock, me) || unlock_shared_slow(lock);
}

}  // namespace readmost::detail
