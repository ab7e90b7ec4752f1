// SPDX-License-Identifier: Apache-2.0
// Finds the notes that the loader has left to this process, and tells the kernel's half where the
// records are.
#include <cstring>
#include <readmost/detail/threads/thread_record.hpp>

#include "platform/choice.hpp"
#include "threads/parts.hpp"
#include "threads/switch_notes.hpp"

// By glibc since 2.35: where the area of restartable sequences is from the thread pointer, and its
// size, 0 if it is not registered.
extern "C" {
extern const std::ptrdiff_t __rseq_offset __attribute__((weak));  // NOLINT
extern const unsigned __rseq_size __attribute__((weak));          // NOLINT
}

namespace readmost::detail {

static_assert(sizeof(switch_note) == sizeof(readmost_switch_note) &&
              sizeof(switch_notes) == sizeof(readmost_switch_notes) &&
              sizeof(readmost_switch_header) == sizeof(readmost_switch_note));
static_assert(home_slots == READMOST_SWITCH_HELD && nested_slots == READMOST_SWITCH_NESTED);

constinit platform::atomic<switch_notes*> notes_of_switches{};

namespace {

// A number that stands for nothing here is right: it is inherited by programs without the file.
void complain_unless_number() noexcept {
  char value[32];
  if (!platform::environment(READMOST_SWITCH_VARIABLE, value, sizeof value)) return;
  if (std::strspn(value, "0123456789") == std::strlen(value)) return;
  text_buffer complaint;
  complaint.add("readmost: " READMOST_SWITCH_VARIABLE "=");
  complaint.add_shown(value);
  complaint.add(" is no number; it is for 'readmost-scheduled' to set. Ignored.\n");
  complain(complaint);
}

// Maps the pages that the loader has left to this process.
READMOST_EARLY void find_switch_notes() noexcept {
  complain_unless_number();
  void* const pages = platform::map_left_pages(READMOST_SWITCH_VARIABLE, sizeof(switch_notes));
  if (pages == nullptr) return;
  auto& found = *static_cast<switch_notes*>(pages);
  const bool are_ours =
      found.header.magic == READMOST_SWITCH_MAGIC &&
      found.header.process == static_cast<unsigned>(platform::process_id()) &&
      // Another process may have the same id elsewhere, and have inherited the file.
      found.header.pid_namespace == platform::pid_namespace();
  if (!are_ours || !use_switch_notes(found)) platform::unmap_pages(pages, sizeof(switch_notes));
}

}  // namespace

bool use_switch_notes(switch_notes& pages) noexcept {
  if (&__rseq_offset == nullptr || &__rseq_size == nullptr || __rseq_size == 0) return false;
  readmost_switch_header& header = pages.header;
  const std::uint64_t program = platform::execution_id();
  if (header.program == program) return false;
  header.program = program;
  // What the threads of the program have left that this process executed before: their periods come
  // again.
  for (switch_note& note : pages.notes) clear_where_set(note.state);
  header.note = offsetof(thread_record, note);
  header.held = offsetof(thread_record, held);
  header.nested_held = offsetof(thread_record, nested_held);
  header.nested = offsetof(thread_record, nested);
  header.section = offsetof(thread_record, section);
  header.seen = offsetof(thread_record, seen);
  const auto* const area = static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset;
  platform::signal_fence();
  // The kernel's half reads the others only when it finds this, and only for this thread's CPU or
  // one to which it has been switched since.
  header.records = reinterpret_cast<const char*>(&own_records[0]) - area;
  notes_of_switches.store(&pages, platform::relaxed);
  return true;
}

}  // namespace readmost::detail
