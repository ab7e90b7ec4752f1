// SPDX-License-Identifier: Apache-2.0
// What the kernel notes of switches, where the process runs with the scheduler's help
// (tools/scheduled): which threads are switched out, and what they held then. FCP 4.1, ScheduleOut.
//
// Only records of the process's own domain have a note.
#pragma once

#include <cstddef>
#include <readmost/detail/threads/domain.hpp>

#include "threads/switch_notes_layout.h"

namespace readmost::detail {

// readmost_switch_note and readmost_switch_notes, as the process accesses them.
struct switch_note {
  platform::atomic<std::uint64_t> state{};
  platform::atomic<std::uint64_t> switches{};
  platform::atomic<std::uint64_t> holding{};
  platform::atomic<std::uint64_t> inside{};
  platform::atomic<std::uint64_t> lock{};
  platform::atomic<std::uint64_t> seen{};
  platform::variable<std::uint64_t> reserved[2]{};
};

struct switch_notes {
  platform::atomic<std::uint32_t>& holder() noexcept {
    return *reinterpret_cast<platform::atomic<std::uint32_t>*>(&header.holder);
  }

  readmost_switch_header header{};
  switch_note notes[READMOST_SWITCH_NOTES]{};
};

// Null without the scheduler's help.
extern platform::atomic<switch_notes*> notes_of_switches;

// From now on the notes in these pages are believed, those of records that threads take later.
// Tells the kernel's half where the records are. False if that cannot be: the C library has not
// registered restartable sequences, or another copy of the library uses the pages.
bool use_switch_notes(switch_notes& pages) noexcept;

// The calling thread, which has just taken the record, begins a period of its note.
void begin_switch_notes(thread_record& me) noexcept;

// The note of a record's thread; null if it has none.
inline const switch_note* note_of_switches(const thread_record& record) noexcept {
  switch_notes* const pages = notes_of_switches.load(platform::relaxed);
  if (pages == nullptr) return nullptr;
  const auto number = static_cast<std::uint32_t>(record.note.load(platform::relaxed));
  return number == 0 ? nullptr : &pages->notes[number];
}

bool says_switched_out(switch_notes& pages, const thread_record& record) noexcept;

// Whether the record's thread was switched out just now. It may run again by now, but then behind a
// full fence that comes after this look, and what it did before is visible to the caller.
inline bool is_switched_out(const thread_record& record) noexcept {
  switch_notes* const pages = notes_of_switches.load(platform::relaxed);
  return pages != nullptr && says_switched_out(*pages, record);
}

}  // namespace readmost::detail
