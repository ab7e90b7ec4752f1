// The locks of other classes that serve a program's locks. They are too large for a
// pthread_rwlock_t, so one is made at the first use of each and found by a pointer in it.
//
// A program may free a lock's memory without a word, as libstdc++ does with std::shared_mutex, and
// put another lock there: what served the old one is found by its address and used again. And it
// may destroy a lock while the thread that has just released it is still in its unlock: memory is
// used again only after a good many other locks have been destroyed.
//
// Thread safety: all functions. Cost: part of a microsecond. The process ends when there is no
// memory.
#pragma once

#include "interpose/layout.hpp"

namespace readmost::detail::interpose {

// So that a child does not find the lists half changed.
void watch_forks_of_made_locks() noexcept;

// What is to be known of a class of locks; its objects need no more than a cache line's alignment.
struct lock_class {
  std::size_t size;
  void (*construct)(void*);
  void (*destruct)(void*);
};

// The lock that serves `l`: a free one, unless another thread has been first. `of`: always the same
// in one process.
void* make_lock(layout& l, const lock_class& of) noexcept;

// To be called when the program destroys `l`.
void retire_lock(layout& l) noexcept;

}  // namespace readmost::detail::interpose
