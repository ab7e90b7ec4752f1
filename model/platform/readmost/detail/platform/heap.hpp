// SPDX-License-Identifier: Apache-2.0
// The seam to the C++ heap, for the checker: memory of the execution, which is not used again.
#pragma once

#include <cstddef>
#include <memory>

namespace readmost::detail::platform {

namespace simulated {
void* allocate(std::size_t bytes, std::size_t alignment);
}

struct heap_object {
  static void* operator new(std::size_t bytes) {
    return simulated::allocate(bytes, alignof(std::max_align_t));
  }
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void operator delete(void*) noexcept {}
};

template <class T>
struct allocator {
  using value_type = T;

  allocator() noexcept = default;
  template <class U>
  allocator(const allocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(simulated::allocate(count * sizeof(T), alignof(std::max_align_t)));
  }
  void deallocate(T*, std::size_t) noexcept {}
  bool operator==(const allocator&) const noexcept = default;
};

}  // namespace readmost::detail::platform
