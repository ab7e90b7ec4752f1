// SPDX-License-Identifier: Apache-2.0
// Observed locks: every operation tells the check for misuse (lock_check.hpp) and the tools that
// follow memory accesses (platform/tools.hpp) what it does. The fast paths know nothing of that: an
// observed lock never opens them. It never becomes `ready`, gets no bias, and an active hold never
// has the first note of its thread's record, so every operation ends in one of the functions below
// whose first step is to tell.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "platform/tools.hpp"

namespace readmost::detail {

// How the holds of a thread and the waits for them appear to an observer.
enum class hold_kind : std::uint8_t { read, write };

#if defined(READMOST_SIMULATED)

constexpr bool is_observed() noexcept {
  return false;
}
inline void observe_new_lock(const rwlock&) noexcept {}
inline void observe_destruction(const rwlock&) noexcept {}
inline void observe_release(const rwlock&, hold_kind) noexcept {}
inline void observe_refused_release(const rwlock&, hold_kind) noexcept {}
inline void observe_downgrade(const rwlock&) noexcept {}
inline void observe_vain_wait(const rwlock&, hold_kind) noexcept {}
inline outcome observed(const rwlock&, hold_kind, rules, auto operation) noexcept {
  return operation();
}
inline outcome observed_upgrade(const rwlock&, rules, auto operation) noexcept {
  return operation();
}

#else

enum class observers : std::uint8_t { undecided, nobody, somebody };
extern platform::atomic<observers> observers_;
bool decide_on_observers() noexcept;

// Whether the locks of this process are observed. Decided once, at the first use of a lock or
// before.
inline bool is_observed() noexcept {
  const observers known = observers_.load(platform::relaxed);
  return known == observers::undecided ? decide_on_observers() : known == observers::somebody;
}

// The distance from the address of a program's lock up to that of the core's lock in it, in a
// library that has one; set before the first use of a lock.
extern std::size_t offset_of_core;
inline const void* program_address(const rwlock& lock) noexcept {
  return reinterpret_cast<const char*>(&lock) - offset_of_core;
}
// Set if a tool has seen the program's call before the library: then it needs no telling.
extern bool locks_are_known_to_tool;

// --- Told by the slow paths ----------------------------------------------------------------------
// Precondition of all: is_observed().

// Of a lock at its first use, which may lie where another lock has been.
void observe_new_lock(const rwlock& lock) noexcept;
// Of one whose memory is about to be put to another use.
void observe_destruction(const rwlock& lock) noexcept;
// Before a hold is released, whether or not the caller has one.
void observe_release(const rwlock& lock, hold_kind kind) noexcept;
// The same where the surface refuses, because nobody has one.
void observe_refused_release(const rwlock& lock, hold_kind kind) noexcept;
// Before a write hold becomes a read hold.
void observe_downgrade(const rwlock& lock) noexcept;
// Instead of a wait that would never end, when the surface refuses it.
void observe_vain_wait(const rwlock& lock, hold_kind kind) noexcept;

void observe_wait(const rwlock& lock, hold_kind kind, rules how) noexcept;
void observe_end_of_wait(const rwlock& lock, hold_kind kind, rules how, outcome result) noexcept;
void observe_wait_for_upgrade(const rwlock& lock, rules how) noexcept;
void observe_end_of_upgrade(const rwlock& lock, outcome result) noexcept;

// Calls the operation that takes the lock, and tells of it before and after.
template <class Operation>
outcome observed(const rwlock& lock, hold_kind kind, rules how, Operation operation) noexcept {
  observe_wait(lock, kind, how);
  const outcome result = operation();
  observe_end_of_wait(lock, kind, how, result);
  return result;
}
template <class Operation>
outcome observed_upgrade(const rwlock& lock, rules how, Operation operation) noexcept {
  observe_wait_for_upgrade(lock, how);
  const outcome result = operation();
  observe_end_of_upgrade(lock, result);
  return result;
}

#endif

}  // namespace readmost::detail
