// SPDX-License-Identifier: Apache-2.0
// Locks of other classes that serve a program's locks. They are too large for a pthread_rwlock_t,
// so the first use of a pthread_rwlock_t makes one, to which it then points.
//
// A program may free a lock's memory without destroying the lock, as libstdc++ does with
// std::shared_mutex, and put another lock there: then the serving lock is found by the address and
// reused. A program may also destroy a lock while the thread that has just released it is still in
// its unlock: so memory is reused only after many other locks have been destroyed.
//
// Thread safety: all functions. Cost: part of a microsecond. Errors: the process aborts without
// memory.
#pragma once

#include "lab/layout.hpp"

namespace readmost::detail::lab {

// Keeps a fork's child from finding the lists half changed.
void watch_forks_of_made_locks() noexcept;

// A class of locks, whose objects need at most the alignment of a cache line.
struct lock_class {
  std::size_t size;
  void (*construct)(void*);
  void (*destruct)(void*);
};

// Makes a free lock that serves `l`, unless another thread has made one first; returns the one that
// serves it. Precondition: `of` is the same in all calls of a process.
void* make_lock(layout& l, const lock_class& of) noexcept;

// Must be called when the program destroys `l`.
void retire_lock(layout& l) noexcept;

}  // namespace readmost::detail::lab
