// SPDX-License-Identifier: Apache-2.0
// The check for misuse of locks: READMOST_LOCK_CHECK=1, or =abort, in the environment. Each finding
// is one report on stderr, once for each kind and place. See docs/sanitizers.md.
//
// A thread notes its holds and where it took them in a table of its own, and the order in which it
// takes locks in a graph of all threads. Whoever adds an edge to the graph that closes a cycle has
// found an inversion. The tables are mapped, bounded, and say once when they are full. The
// functions neither allocate nor call out of the library; signal handlers that interrupt one of
// them are not checked.
#pragma once

#include "lock/observation.hpp"

namespace readmost::detail::lock_check {

bool is_on() noexcept;

// A lock is used for the first time, or is about to be put to another use: no thread may hold one
// at this address.
void begin_life(const rwlock& lock) noexcept;
void end_life(const rwlock& lock) noexcept;

// Before a wait: is it in vain, or against the order of the other threads?
void wait(const rwlock& lock, hold_kind kind, rules how) noexcept;
void wait_for_upgrade(const rwlock& lock, rules how) noexcept;

void acquire(const rwlock& lock, hold_kind kind) noexcept;
void upgrade(const rwlock& lock) noexcept;

// Before the hold is released or changed: has the caller one?
void release(const rwlock& lock, hold_kind kind) noexcept;
// The same where the surface refuses.
void refuse_release(const rwlock& lock, hold_kind kind) noexcept;
void downgrade(const rwlock& lock) noexcept;

// The calling thread ends; what it does afterwards is not checked.
void end_thread() noexcept;
// In a fork's child, which has the calling thread alone.
void begin_child() noexcept;

}  // namespace readmost::detail::lock_check
