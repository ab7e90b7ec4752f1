// SPDX-License-Identifier: Apache-2.0
// Memory for the locks that serve a program's locks; implements rivals/memory.hpp. malloc() is not
// usable here: it may be the program's own and take one of those locks.
//
// Thread safety: all functions. Cost: takes the first piece of a list, or sometimes maps pages.
// Memory that is given back is reused for pieces of the same size and never unmapped, because a
// program may destroy a lock while the thread that has just released it is still in its unlock.
#pragma once

#include "rivals/memory.hpp"

namespace readmost::detail::lab {

// As watch_forks_of_made_locks().
void watch_forks_of_lock_memory() noexcept;

}  // namespace readmost::detail::lab
