// SPDX-License-Identifier: Apache-2.0
// The layout of a lock of the lab inside the program's pthread_rwlock_t. All zeros, as in
// PTHREAD_RWLOCK_INITIALIZER, is a free lock; `shared` stays where glibc has it.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "interpose/layout.hpp"

namespace readmost::detail::lab {

struct layout {
  // The writer inside, as owner_token(). Only that thread writes it; others compare.
  platform::atomic<std::uintptr_t> owner;
  // The lock that serves this one: see made_locks.hpp.
  platform::atomic<void*> made;
  char unused[12];
  int shared;
  char rest[sizeof(pthread_rwlock_t) - 32];
};
static_assert(offsetof(layout, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(sizeof(layout) == sizeof(pthread_rwlock_t));
static_assert(alignof(layout) <= alignof(pthread_rwlock_t));

inline layout& of(pthread_rwlock_t* lock) noexcept {
  return *reinterpret_cast<layout*>(lock);
}

inline bool is_mine(const layout& l) noexcept {
  return l.owner.load(platform::relaxed) == interpose::owner_token();
}

}  // namespace readmost::detail::lab
