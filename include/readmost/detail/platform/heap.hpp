// SPDX-License-Identifier: Apache-2.0
// The seam to the C++ heap: how the containers allocate. The checker gives them memory of its own,
// which has the same addresses in every execution.
#pragma once

#include <memory>

namespace readmost::detail::platform {

// Base of all objects that a container allocates by `new`.
struct heap_object {};

template <class T>
using allocator = std::allocator<T>;

}  // namespace readmost::detail::platform
