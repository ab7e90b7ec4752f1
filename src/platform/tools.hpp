// SPDX-License-Identifier: Apache-2.0
// Tools that follow a program's memory accesses and have to be told what orders them:
// ThreadSanitizer, and Helgrind and DRD of Valgrind. The library is compiled without them, and asks
// when it is loaded whether one is there.
//
// They see neither the library's atomics nor its fences, so they are told what follows from those:
// who holds which lock, and which accesses happen before which. The library's own data is hidden
// from Valgrind's tools, which take every access for a plain one. ThreadSanitizer sees none of it,
// except what is inlined into the program.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::tools {

// How a lock is taken.
struct acquisition {
  bool writes = false;
  // Fails rather than wait for ever, so it takes part in no deadlock.
  bool tries = false;
};

// The checker has no tools, and in a library that is compiled with ThreadSanitizer the atomics
// themselves are what it sees.
#if defined(READMOST_SIMULATED) || defined(READMOST_THREAD_SANITIZER)

constexpr bool are_present() noexcept {
  return false;
}
inline void stop_in_this_thread() noexcept {}
inline void hide(const void*, std::size_t) noexcept {}
inline void happens_before(const void*) noexcept {}
inline void happens_after(const void*) noexcept {}
inline void begin_acquisition(const void*, acquisition) noexcept {}
inline void end_acquisition(const void*, acquisition, bool) noexcept {}
inline void release(const void*, bool) noexcept {}
inline void destroy(const void*) noexcept {}

#else

// Decided at the first call, which may come before any constructor has run.
enum class present : std::uint8_t { undecided, none, thread_sanitizer, valgrind };
extern platform::atomic<present> which;
present decide() noexcept;

inline present tool() noexcept {
  const present known = which.load(platform::relaxed);
  return known == present::undecided ? decide() : known;
}
inline bool are_present() noexcept {
  return tool() > present::none;
}

// The functions below do nothing if no tool is there.

// Called by a thread that exits. ThreadSanitizer may have finished with it already, and must hear
// no more of it.
void stop_in_this_thread() noexcept;

// The memory is the library's own: accesses to it are no races.
void hide(const void* memory, std::size_t bytes) noexcept;

void tell_before(const void* address) noexcept;
void tell_after(const void* address) noexcept;

// What the calling thread has done until now happens before whatever a thread does after a later
// happens_after() with the same address.
inline void happens_before(const void* address) noexcept {
  if (are_present()) [[unlikely]]
    tell_before(address);
}
inline void happens_after(const void* address) noexcept {
  if (are_present()) [[unlikely]]
    tell_after(address);
}

// Around the attempt to take a lock, whether it succeeds or not.
void begin_acquisition(const void* lock, acquisition how) noexcept;
void end_acquisition(const void* lock, acquisition how, bool acquired) noexcept;
// Before the lock is released.
void release(const void* lock, bool writes) noexcept;
void destroy(const void* lock) noexcept;

#endif

}  // namespace readmost::detail::tools
