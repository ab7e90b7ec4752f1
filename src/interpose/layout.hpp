// A lock inside the program's pthread_rwlock_t. All zeros, PTHREAD_RWLOCK_INITIALIZER, is a free
// lock, and `shared` and `kind` stay where glibc has them.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail::interpose {

struct layout {
  // The thread that writes, as owner_token(); touched by that thread alone, but for comparison.
  platform::atomic<std::uintptr_t> owner;
  // The lock that serves this one where READMOST_LOCK names another: see made_locks.hpp.
  platform::atomic<void*> made;
  char unused[12];
  int shared;
  rwlock core;
  unsigned int kind;
};
static_assert(offsetof(layout, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(offsetof(layout, kind) == offsetof(pthread_rwlock_t, __data.__flags));
// Unused by glibc, and zero in its initialisers.
static_assert(offsetof(layout, core) + sizeof(std::uint64_t) ==
              offsetof(pthread_rwlock_t, __data.__pad2));
static_assert(sizeof(layout) == sizeof(pthread_rwlock_t));
static_assert(alignof(layout) <= alignof(pthread_rwlock_t));

// How far into the program's lock the core's lies.
inline constexpr std::size_t core_offset = offsetof(layout, core);

inline layout& of(pthread_rwlock_t* lock) noexcept {
  return *reinterpret_cast<layout*>(lock);
}

// Tells threads apart, also after fork, where the thread id of the survivor changes.
inline std::uintptr_t owner_token() noexcept {
  return reinterpret_cast<std::uintptr_t>(&own_records);
}

inline bool is_mine(const layout& l) noexcept {
  return l.owner.load(platform::relaxed) == owner_token();
}

}  // namespace readmost::detail::interpose
