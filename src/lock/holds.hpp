// SPDX-License-Identifier: Apache-2.0
// Read holds: the slots of passive ones, the notes of active ones, and their release.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "statistics/lock_statistics.hpp"

namespace readmost::detail {

// The first use of a lock: counts the lock, and opens its fast paths unless there are statistics.
void meet(rwlock& lock, thread_record* me, rules how) noexcept;

// Takes back a hold that was published too late. A writer may have taken it for a hold and sleep
// until it is released.
void take_back(rwlock& lock, thread_record& me, platform::atomic<std::uintptr_t>& slot,
               std::size_t index) noexcept;

// Lowers the stack of nested holds, of which the one at `depth` has been released. Holds below it
// may have been released before.
void lower_nested(thread_record& me, std::size_t depth) noexcept;

// Note an active hold of the caller, or take one off its record; not for `unregistered`. Before the
// hold is counted, and after it is released: a signal handler in between must not wait behind a
// writer that waits for the hold.
void note_hold(thread_record& me, const rwlock& lock) noexcept;
void take_off_note(thread_record& me, const rwlock& lock) noexcept;

// The same on the stack of nested holds, if the caller holds the lock passively too; false if it
// does not, or if there is no room. The second takes off the caller's latest hold of the lock,
// unless that is a passive one.
bool note_over_passive_hold(thread_record& me, const rwlock& lock) noexcept;
bool take_off_over_passive_hold(thread_record& me, const rwlock& lock) noexcept;

// Clears the marks that moved holds have left in the caller's slots, with which all its reports say
// that it is inside. Not for signal handlers: one may have interrupted the release of such a hold.
void clear_moved_holds(thread_record& me) noexcept;

// Before the caller sleeps: its records say what is true until it is awake again. `me` may be null.
inline void settle_before_sleep(thread_record* me) noexcept {
  go_offline();
  if (me != nullptr) clear_moved_holds(*me);
}

// How many of the record's slots have this content.
int slots_with(const thread_record& me, std::uintptr_t content) noexcept;

// How often the caller's record names `lock`.
inline int passive_holds_of(const thread_record& me, const rwlock& lock) noexcept {
  return slots_with(me, address(lock));
}
int noted_holds_of(const thread_record& me, const rwlock& lock) noexcept;

// Whether the caller may hold the lock for reading: a thread with holds that are not noted may hold
// any lock.
inline bool holds_shared(const thread_record* me, const rwlock& lock) noexcept {
  return me == nullptr || me->unnoted != 0 || noted_holds_of(*me, lock) != 0 ||
         passive_holds_of(*me, lock) != 0;
}

// Releases the caller's latest passive hold of `lock`; false if it has none.
bool release_own_passive_hold(const rwlock& lock, thread_record& me) noexcept;

// Subtracts one hold from the lock's count, regardless of the records, and wakes the threads that
// wait for it. False if no hold is counted.
bool release_counted_hold(rwlock& lock) noexcept;

// Moves all passive holds of the lock to its count, and leaves it without bias for good. False if
// it has no hold then. See moving.cpp.
bool move_holds_to_count(rwlock& lock) noexcept;
// Closed meanwhile, and while the process forks: a child would not know which holds are counted.
extern gate moving_gate;

}  // namespace readmost::detail
