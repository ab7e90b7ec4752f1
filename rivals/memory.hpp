// SPDX-License-Identifier: Apache-2.0
// Memory for the parts of a lock that exist per place, for threads' notes beyond eight holds, and
// for the locks that serve a program's locks. Zeroed, on cache lines of its own. The process ends
// if there is none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <readmost/detail/platform/platform.hpp>

namespace rivals {

namespace platform = readmost::detail::platform;

#if defined(RIVALS_MEMORY_ELSEWHERE)

// In a program's locks malloc is out of place: see src/lab/lock_memory.cpp.
void* take_memory(std::size_t bytes) noexcept;
void give_back(void* memory, std::size_t bytes) noexcept;

#elif defined(READMOST_SIMULATED)

inline void* take_memory(std::size_t bytes) noexcept {
  return platform::map_pages(bytes);
}
inline void give_back(void*, std::size_t) noexcept {}

#else

inline void* take_memory(std::size_t bytes) noexcept {
  const std::size_t lines = (bytes + platform::cache_line - 1) / platform::cache_line;
  void* const memory = std::aligned_alloc(platform::cache_line, lines * platform::cache_line);
  if (memory == nullptr) std::abort();
  __builtin_memset(memory, 0, lines * platform::cache_line);
  return memory;
}
inline void give_back(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif

}  // namespace rivals
