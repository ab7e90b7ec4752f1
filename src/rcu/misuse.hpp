// SPDX-License-Identifier: Apache-2.0
// Reports of misuse of RCU, instead of a silent hang or corruption. See docs/rcu.md.
#pragma once

#include <readmost/detail/threads/domain.hpp>

#include "platform/findings.hpp"

namespace readmost::detail {

enum class misuse : std::uint8_t {
  synchronize_inside,      // a thread waits for a grace period that waits for its own section
  barrier_inside,          // the same through deleters, once there are any to wait for
  unlock_without_lock,     // a read section is left that was not entered
  dereference_outside,     // a protected pointer is read outside of all sections
  retired_twice,           // an object is retired that waits for its deleter already
  exit_inside,             // a thread ends inside a read section
  barrier_inside_deleter,  // a deleter waits for all deleters but itself: no error, a warning
  long_section,            // a read section is open for longer than the limit
};

// Whether misuse is checked: by READMOST_RCU_CHECK in the environment, or in a build with
// -DREADMOST_RCU_CHECK. If not, the functions below do nothing, except for synchronize_inside,
// which is certain to hang and costs nothing to detect.
bool checks_misuse() noexcept;

// Reports the calling thread's misuse with its place, once for each kind and place. `caller`: the
// address to which the library returns to the program, so the function that passes it must not be
// inlined; null if the program did not call. Allocates no memory and takes no lock. With
// READMOST_RCU_CHECK=abort it does not return from misuse that would hang.
void diagnose_misuse(misuse what, unsigned domain, const void* caller) noexcept;

// The time in nanoseconds that a read section may be open before it is reported; 0: no limit.
std::uint64_t section_limit() noexcept;
// Reports the section of the reader, which may be another thread, if it is open for longer than
// that.
void report_if_long(const thread_record& reader) noexcept;

// --- For other reports ---------------------------------------------------------------------------

// The number of milliseconds that the environment variable says, or `otherwise`; complains if it
// says anything else.
std::uint64_t milliseconds_in(const char* variable, std::uint64_t otherwise) noexcept;
// Where the thread entered the section that it is in, if that is noted.
void add_entry(text_buffer& t, const thread_record& reader) noexcept;
// Writes it to where reports go, in one piece.
void write_report(const text_buffer& t) noexcept;

// -------------------------------------------------------------------------------------------------

// Called by a thread that has just entered its outermost section, and that is about to leave it, if
// its record has section_checked.
void note_entry(thread_record& me, const void* caller) noexcept;
void note_exit(thread_record& me) noexcept;

}  // namespace readmost::detail
