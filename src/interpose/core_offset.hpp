// Where the core's lock lies in the program's: see `layout` in pthread_rwlock.cpp.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace readmost::detail::interpose {

inline constexpr std::size_t core_offset =
    offsetof(pthread_rwlock_t, __data.__pad2) - sizeof(std::uint64_t);

}  // namespace readmost::detail::interpose
