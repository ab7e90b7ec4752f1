// Misuse of RCU, told instead of a silent hang or corruption.
#pragma once

#include <readmost/domain.hpp>

namespace readmost {

enum class misuse {
  unlock_without_lock,     // a read section is left that was not entered
  synchronize_inside,      // a thread waits for a grace period that waits for its own section
  barrier_inside_deleter,  // a deleter waits for all deleters, itself among them
  long_section,            // a read section is open for longer than the limit
  dereference_outside,     // a protected pointer is read outside of all sections
};

// Whether misuse is looked for: by READMOST_RCU_CHECK=1 in the environment, or in a build with
// -DREADMOST_RCU_CHECK.
bool checks_misuse() noexcept;

// Says what is wrong and where, once for each kind and place. Does nothing where it is not looked
// for.
void report_misuse(misuse what) noexcept;

// How long a read section may keep a grace period waiting before it is reported, in nanoseconds; 0:
// for ever.
std::uint64_t section_limit() noexcept;
void report_long_section(const thread_record& reader) noexcept;

// For a thread that has entered a section, and is about to leave one, of a record with
// section_checked.
void note_entry(thread_record& me) noexcept;
void note_exit(thread_record& me) noexcept;

}  // namespace readmost
