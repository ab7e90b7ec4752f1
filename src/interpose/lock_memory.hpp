// The memory of the locks that serve a program's locks, by the interface of rivals/memory.hpp. Not
// malloc's: that may be the program's own, and take one of those locks.
//
// Thread safety: all functions. Cost: a list's first, or now and then fresh pages. What is given
// back is used again for pieces of the same size and never returned to the system: a program may
// destroy a lock while the thread that has just released it is still in its unlock.
#pragma once

#include "rivals/memory.hpp"

namespace readmost::detail::interpose {

// As watch_forks_of_made_locks().
void watch_forks_of_lock_memory() noexcept;

}  // namespace readmost::detail::interpose
