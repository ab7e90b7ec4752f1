// SPDX-License-Identifier: Apache-2.0
// The waiters that are counted in a lock's state.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

inline bool counts_writers(preference prefers) noexcept {
  return prefers != preference::reader;
}

// Notes in the thread's record how the state counts it, for a fork's child, in which the thread
// does not wait. Set after the state counts the thread and cleared before it stops counting it: in
// the time between, a child takes the thread for a waiter.
inline void note_waiting(thread_record* me, const rwlock& lock, waits_as as) noexcept {
  if (me != nullptr) {
    me->waiting_in.store(address(lock) | static_cast<std::uintptr_t>(as), platform::relaxed);
  }
}

inline void note_waited(thread_record* me) noexcept {
  if (me != nullptr) me->waiting_in.store(0, platform::relaxed);
}

// Whether the state has room for one more waiter: it counts up to 4,095 writers and 8,191 readers.
inline bool can_be_counted(std::uint64_t state, waits_as as) noexcept {
  const std::uint64_t field = as == waits_as::reader     ? rwlock::waiting_readers
                              : as == waits_as::upgrader ? 0
                                                         : rwlock::waiting_writers;
  return field == 0 || (state & field) != field;
}

inline std::uint64_t with_waiter(std::uint64_t state, waits_as as) noexcept {
  switch (as) {
    case waits_as::writer:
      return state + rwlock::one_writer;
    case waits_as::reader:
      return state + rwlock::one_waiting_reader;
    case waits_as::upgrader:
      return state | rwlock::upgrading;
    case waits_as::counted_upgrader:
      return (state | rwlock::upgrading) + rwlock::one_writer;
    case waits_as::next_writer:
      return state | rwlock::handoff;
  }
  return state;
}

// Changes `state` to `next`, which counts the caller; false if the state is no longer `state`.
inline bool start_waiting(rwlock& lock, thread_record* me, waits_as as, std::uint64_t state,
                          std::uint64_t next) noexcept {
  if (!lock.state.compare_exchange_weak(state, next, platform::relaxed)) return false;
  note_waiting(me, lock, as);
  return true;
}

// Changes `state` to `next`, which no longer counts the caller if it was `counted`; false as above.
inline bool stop_waiting(rwlock& lock, thread_record* me, bool counted, waits_as as,
                         std::uint64_t& state, std::uint64_t next,
                         std::memory_order order) noexcept {
  if (counted) note_waited(me);
  if (lock.state.compare_exchange_strong(state, next, order, platform::relaxed)) return true;
  if (counted) note_waiting(me, lock, as);
  return false;
}

}  // namespace readmost::detail
