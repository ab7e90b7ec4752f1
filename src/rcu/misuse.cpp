// SPDX-License-Identifier: Apache-2.0
// Checks for misuse of RCU: settings, notes of where sections were entered, and reports.
//
// A report is composed first and then written by one write(2), so those of several threads do not
// mix. It is short enough for a pipe to take it in one piece.
#include "rcu/misuse.hpp"

#include <cstdlib>
#include <cstring>
#include <readmost/detail/rcu/read_section.hpp>

#include "platform/address_space.hpp"
#include "platform/choice.hpp"
#include "platform/findings.hpp"
#include "rcu/stall.hpp"
#include "threads/parts.hpp"

namespace readmost::detail {

namespace {

// --- Settings ------------------------------------------------------------------------------------

#if defined(READMOST_RCU_CHECK)
constexpr bool checks_by_default = true;
#else
constexpr bool checks_by_default = false;
#endif

constexpr std::uint64_t default_limit = 1'000;  // milliseconds
constexpr std::uint64_t most_limit = 1'000'000'000;

struct check_settings {
  bool checks = checks_by_default;
  bool aborts = false;
  std::uint64_t limit = 0;  // nanoseconds
  char file[4096] = "";     // empty: stderr
};

enum : std::uint32_t { unread, being_read, read };

constinit platform::atomic<std::uint32_t> progress{unread};
constinit check_settings in_force;
// Whether this thread is reading the settings: a signal handler that needs them then must not wait.
READMOST_THREAD_LOCAL bool reading;

}  // namespace

std::uint64_t milliseconds_in(const char* variable, std::uint64_t otherwise) noexcept {
  char value[32];
  if (!platform::environment(variable, value, sizeof value) || *value == '\0') return otherwise;
  std::uint64_t limit = 0;
  for (const char* c = value; *c != '\0'; ++c) {
    if (*c < '0' || *c > '9' || limit > most_limit) {
      text_buffer complaint;
      complaint.add("readmost: %s=", variable);
      complaint.add_shown(value);
      complaint.add(" is no number of milliseconds. Using %llu.\n",
                    static_cast<unsigned long long>(otherwise));
      complain(complaint);
      return otherwise;
    }
    limit = limit * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  return limit;
}

namespace {

void read_settings() noexcept {
  static constexpr std::string_view names[]{"0", "1", "abort"};
  const std::size_t asked = chosen_among(names, "READMOST_RCU_CHECK", checks_by_default ? 1 : 0);
  in_force.checks = asked != 0;
  in_force.aborts = asked == 2;
  if (!platform::environment("READMOST_RCU_CHECK_FILE", in_force.file, sizeof in_force.file)) {
    in_force.file[0] = '\0';
  }
  const std::uint64_t limit = milliseconds_in("READMOST_RCU_SECTION_LIMIT", default_limit);
  if (in_force.checks) in_force.limit = limit * 1'000'000;
}

const check_settings& settings() noexcept {
  static constexpr check_settings none{.checks = false};
  while (progress.load(platform::acquire) != read) [[unlikely]] {
    if (reading) return none;
    reading = true;
    platform::signal_fence();
    std::uint32_t expected = unread;
    if (progress.compare_exchange_strong(expected, being_read, platform::acquire)) {
      read_settings();
      progress.store(read, platform::release);
    } else {
      platform::yield();
    }
    platform::signal_fence();
    reading = false;
  }
  return in_force;
}

// Runs before other threads exist, which would have to wait, and before a fork could interrupt it.
READMOST_EARLY void read_settings_early() noexcept {
  settings();
  stall_limit();
  chosen_on("READMOST_RCU_THREAD", true);  // read where threads start; this tells of wrong values
}

}  // namespace

// Notes about the outermost section of a record's owner. Never freed, as the record. The owner
// writes the frames while `entered` is 0; a thread that reads the same `entered` before and after
// the frames has read those of one section.
struct section_notes {
  platform::atomic<std::uint64_t> entered{};  // nanoseconds of platform::now(); 0: in none
  platform::atomic<std::uint64_t> told{};     // `entered` of the section that was reported last
  platform::atomic<std::uintptr_t> frames[most_frames]{};
};

namespace {

struct noted_section {
  std::uint64_t entered = 0;
  trace where;
};

// The notes about a record's section; `entered` is 0 if there are none.
noted_section section_of(const thread_record& record) noexcept {
  noted_section noted;
  const section_notes* const notes = record.notes.load(platform::acquire);
  if (notes == nullptr) return noted;
  const std::uint64_t entered = notes->entered.load(platform::acquire);
  for (const auto& frame : notes->frames) {
    const std::uintptr_t address = frame.load(platform::acquire);
    if (address == 0) break;
    noted.where.frames[noted.where.count++] = address;
  }
  if (notes->entered.load(platform::relaxed) == entered) noted.entered = entered;
  return noted;
}

// --- The report ----------------------------------------------------------------------------------

const char* title_of(misuse what) noexcept {
  switch (what) {
    case misuse::synchronize_inside:
      return "waiting for a grace period inside a read section of the same domain: a thread cannot "
             "wait for itself";
    case misuse::barrier_inside:
      return "rcu_barrier inside a read section of the same domain: it waits for itself if a "
             "deleter has to run";
    case misuse::unlock_without_lock:
      return "a read section is closed that this thread did not open: ignored";
    case misuse::dereference_outside:
      return "a protected pointer is read outside of all read sections of its domain";
    case misuse::retired_twice:
      return "an object is retired that is retired already: ignored";
    case misuse::exit_inside:
      return "a thread ends inside a read section";
    case misuse::barrier_inside_deleter:
      return "warning: rcu_barrier in a deleter does not wait for what that deleter reclaims";
    case misuse::long_section:
      return "a read section is open for too long";
  }
  return "";
}

}  // namespace

void add_entry(text_buffer& t, const thread_record& reader) noexcept {
  const noted_section section = section_of(reader);
  if (section.entered == 0) return;
  const address_space space("/proc/self", symbol_names::mangled);
  add_frames(t, "entered in", section.where, space);
}

void write_report(const text_buffer& t) noexcept {
  const char* const file = *settings().file != '\0' ? settings().file : nullptr;
  if (!platform::write_text(file, t.data(), t.length()) && file != nullptr) {
    platform::write_text(nullptr, t.data(), t.length());
  }
}

namespace {

// `about`: the thread that is reported.
void report_once(misuse what, unsigned domain, std::int32_t about, const trace& called,
                 const noted_section& section) noexcept {
  const std::uint64_t now = platform::now();
  const trace& where = called.count != 0 ? called : section.where;
  const std::uint64_t kind = (static_cast<std::uint64_t>(what) + 1) << 8 | domain;
  if (!is_new_way(kind, where)) return;
  const address_space space("/proc/self", symbol_names::mangled);
  if (!is_new(~mixed(kind, place_in(where, space)))) return;
  text_buffer t;
  t.add("readmost: %s\n  ", title_of(what));
  add_thread(t, about);
  t.add(" of process %d, domain %u, at ", platform::process_id(), domain);
  add_seconds(t, now);
  if (section.entered != 0) {
    t.add(", in the section for ");
    add_seconds(t, now - section.entered);
  }
  const std::int32_t self = platform::thread_id();
  if (about != self) {
    t.add("\n  a grace period waits for it, led by ");
    add_thread(t, self);
  }
  t.add("\n");
  add_frames(t, "called in", called, space);
  if (section.entered != 0) add_frames(t, "entered in", section.where, space);
  write_report(t);
}

}  // namespace

bool checks_misuse() noexcept {
  return settings().checks;
}

void diagnose_misuse(misuse what, unsigned domain, const void* caller) noexcept {
  if (what != misuse::synchronize_inside && !checks_misuse()) return;
  const trace called = trace_from(caller);
  noted_section section;
  if (const thread_record& me = my_record(domain); &me != &unregistered) section = section_of(me);
  report_once(what, domain, platform::thread_id(), called, section);
  if (settings().aborts && (what == misuse::synchronize_inside || what == misuse::barrier_inside)) {
    std::abort();
  }
}

void check_dereference(unsigned domain) noexcept {
  if (!is_in_section(domain)) {
    diagnose_misuse(misuse::dereference_outside, domain, __builtin_return_address(0));
  }
}

std::uint64_t section_limit() noexcept {
  return settings().limit;
}

void report_if_long(const thread_record& reader) noexcept {
  const noted_section section = section_of(reader);
  if (section.entered == 0 || platform::now() - section.entered < section_limit()) return;
  // The leader and the reader itself may both get here.
  auto& told = reader.notes.load(platform::relaxed)->told;
  if (told.exchange(section.entered, platform::relaxed) == section.entered) return;
  const unsigned domain = chunk_of(reader).domain;
  report_once(misuse::long_section, domain, reader.thread.load(platform::relaxed), trace{},
              section);
}

void note_entry(thread_record& me, const void* caller) noexcept {
  section_notes* notes = me.notes.load(platform::relaxed);
  if (notes == nullptr) {
    notes = static_cast<section_notes*>(platform::map_pages(sizeof(section_notes)));
    if (notes == nullptr) return;
    me.notes.store(notes, platform::release);
  }
  const trace where = trace_from(caller);
  // Release: a thread that reads a new frame finds `entered` cleared before it.
  for (std::size_t i = 0; i < most_frames; ++i) {
    notes->frames[i].store(where.frames[i], platform::release);
  }
  notes->entered.store(platform::now(), platform::release);
}

void note_exit(thread_record& me) noexcept {
  section_notes* const notes = me.notes.load(platform::relaxed);
  if (notes == nullptr) return;
  if (section_limit() != 0) report_if_long(me);
  notes->entered.store(0, platform::relaxed);
}

}  // namespace readmost::detail
