// Misuse of RCU, told instead of a silent hang or corruption. See docs/rcu.md.
#pragma once

#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

enum class misuse : std::uint8_t {
  synchronize_inside,      // a thread waits for a grace period that waits for its own section
  barrier_inside,          // the same by way of deleters, once there are any to wait for
  unlock_without_lock,     // a read section is left that was not entered
  dereference_outside,     // a protected pointer is read outside of all sections
  retired_twice,           // an object is retired that waits for its deleter already
  exit_inside,             // a thread ends inside a read section
  barrier_inside_deleter,  // a deleter waits for all deleters but itself: no error, a warning
  long_section,            // a read section is open for longer than the limit
};

// Whether misuse is looked for: by READMOST_RCU_CHECK in the environment, or in a build with
// -DREADMOST_RCU_CHECK. Where it is not, all below do nothing, but for synchronize_inside: that is
// sure to hang, and costs nothing to find.
bool checks_misuse() noexcept;

// Says what the calling thread did, and where, once for each kind and place. `caller`: the address
// to which the library returns to the program, so what asks for it must not be inlined; null where
// nobody called. No memory is allocated and nothing locked for it. With READMOST_RCU_CHECK=abort
// does not return from what would hang.
void report_misuse(misuse what, unsigned domain, const void* caller) noexcept;

// How long a read section may be open before it is reported, in nanoseconds; 0: for ever.
std::uint64_t section_limit() noexcept;
// Reports the section that the reader, of any thread, is in, if it is open for longer than that.
void report_if_long(const thread_record& reader) noexcept;

// For a thread that has just entered its outermost section, and is about to leave it, of a record
// with section_checked.
void note_entry(thread_record& me, const void* caller) noexcept;
void note_exit(thread_record& me) noexcept;

}  // namespace readmost::detail
