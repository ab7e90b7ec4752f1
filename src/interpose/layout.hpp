// SPDX-License-Identifier: Apache-2.0
// The layout of a lock inside the program's pthread_rwlock_t. All zeros, as in
// PTHREAD_RWLOCK_INITIALIZER, is a free lock; `shared`, and `kind` if there is one, stay where the
// C library has them.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail::interpose {

#if defined(__GLIBC__)
struct layout {
  // The writer inside, as owner_token(). Only that thread writes it; others compare.
  platform::atomic<std::uintptr_t> owner;
  char unused[20];
  int shared;
  rwlock core;
  unsigned int kind;
};
static_assert(offsetof(layout, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(offsetof(layout, kind) == offsetof(pthread_rwlock_t, __data.__flags));
// Unused by glibc, and zero in its initialisers.
static_assert(offsetof(layout, core) + sizeof(std::uint64_t) ==
              offsetof(pthread_rwlock_t, __data.__pad2));
#else
// musl: its lock has two words before `shared` and uses nothing behind it. It knows no kinds.
struct layout {
  platform::atomic<std::uintptr_t> owner;
  int shared;
  unsigned int unused;
  rwlock core;
  char rest[sizeof(pthread_rwlock_t) - 16 - sizeof(rwlock)];
};
static_assert(offsetof(layout, shared) == offsetof(pthread_rwlock_t, __u.__i[2]));
#endif
static_assert(sizeof(layout) == sizeof(pthread_rwlock_t));
static_assert(alignof(layout) <= alignof(pthread_rwlock_t));

// The offset of the core's lock in the program's.
inline constexpr std::size_t core_offset = offsetof(layout, core);

inline layout& of(pthread_rwlock_t* lock) noexcept {
  return *reinterpret_cast<layout*>(lock);
}

// Identifies a thread, also across fork(2), which changes the survivor's thread id.
inline std::uintptr_t owner_token() noexcept {
  return reinterpret_cast<std::uintptr_t>(&own_records);
}

inline bool is_mine(const layout& l) noexcept {
  return l.owner.load(platform::relaxed) == owner_token();
}

// Whether the program made the lock of the kind that prefers writers.
inline bool prefers_writers(const layout& l) noexcept {
#if defined(__GLIBC__)
  return l.kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
#else
  static_cast<void>(l);
  return false;
#endif
}

// The attributes of a lock, which are null for the default.
struct attributes {
  int shared = PTHREAD_PROCESS_PRIVATE;
  int kind = 0;
};
inline attributes attributes_of(const pthread_rwlockattr_t* attr) noexcept {
  attributes found;
  if (attr != nullptr) {
    pthread_rwlockattr_getpshared(attr, &found.shared);
#if defined(__GLIBC__)
    pthread_rwlockattr_getkind_np(attr, &found.kind);
#endif
  }
  return found;
}

// Makes a free lock that is not process-shared.
inline void make_free(pthread_rwlock_t* lock, const attributes& asked) noexcept {
  __builtin_memset(static_cast<void*>(lock), 0, sizeof *lock);
#if defined(__GLIBC__)
  of(lock).kind = static_cast<unsigned int>(asked.kind);
#else
  static_cast<void>(asked);
#endif
}

}  // namespace readmost::detail::interpose
