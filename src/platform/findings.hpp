// SPDX-License-Identifier: Apache-2.0
// What reports of misuse consist of: backtraces, threads, times, and a memory of what has been
// reported. Allocates no memory and takes no lock.
#pragma once

#include "platform/address_space.hpp"
#include "platform/text.hpp"

namespace readmost::detail {

// A report is composed first and then written by one write(2), so those of several threads do not
// mix. A pipe takes this many bytes in one piece (PIPE_BUF is 4096).
inline constexpr std::size_t most_text = 4000;

inline constexpr std::size_t most_frames = 16;

// Return addresses, the program's innermost first.
struct trace {
  std::uintptr_t frames[most_frames]{};
  std::size_t count = 0;
};

// The backtrace that begins at the library's caller; empty if that is null.
trace trace_from(const void* caller) noexcept;

// The backtrace of the caller, the library's own functions among them.
trace trace_from_here() noexcept;

// The same from the program's innermost function on, as far as symbols tell.
trace without_library(const trace& whole, const address_space& space) noexcept;

// A fingerprint of something reported, to which more is added.
std::uint64_t mixed(std::uint64_t so_far, std::uintptr_t more) noexcept;

// Whether this has not been reported yet. False once the table is full: no user reads so many
// reports.
bool is_new(std::uint64_t what) noexcept;
// The same for something that has happened there.
bool is_new_way(std::uint64_t what, const trace& where) noexcept;

// The address in the program at which the misuse occurred.
std::uintptr_t place_in(const trace& where, const address_space& space) noexcept;

void add_seconds(text_buffer& t, std::uint64_t nanoseconds) noexcept;
// "thread 4910 (worker-1)"
void add_thread(text_buffer& t, std::int32_t thread) noexcept;
// A line for each frame, as far as there is room in the report.
void add_frames(text_buffer& t, const char* first, const trace& where, const address_space& space,
                std::size_t most = most_frames) noexcept;

}  // namespace readmost::detail
