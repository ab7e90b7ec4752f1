// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "holders/account.hpp"
#include "holders/stacks.hpp"
#include "lines.hpp"
#include "statistics/lock_figures.hpp"
#include "terminal.hpp"

namespace readmost::command {
namespace {

// The end is what tells most of a long symbol: its file. So the middle is cut.
std::string cut(const std::string& text, std::size_t taken) {
  constexpr std::string_view mark = "...";
  const std::size_t room = page_width - taken;
  if (text.size() <= room) return text;
  const std::size_t end = std::min<std::size_t>(text.size() - text.rfind(' '), room / 2);
  return text.substr(0, room - mark.size() - end) + std::string(mark) +
         text.substr(text.size() - end);
}

std::string lock_text(const account& all, std::uintptr_t lock) {
  return fmt::format("{:#x} {}", lock, shown(all.places.at(lock)));
}

std::string_view wants(waits_to what) {
  return what == waits_to::read ? "to read" : what == waits_to::write ? "to write" : "to upgrade";
}

void add_frames(std::string& page, const std::string& first,
                const std::vector<std::string>& frames) {
  std::string before = "    " + first;
  for (const std::string& each : frames) {
    page += before + ' ' + cut(shown(each), before.size() + 1) + '\n';
    before.assign(before.size(), ' ');
  }
}

void add_stack(std::string& page, const account& all, const std::string& first, pid_t thread) {
  const auto found = all.stacks.find(thread);
  if (found != all.stacks.end()) add_frames(page, first, found->second);
}

std::string since_text(const account& all, std::uint64_t since) {
  if (since == 0) return "";
  if (!all.now) {
    return fmt::format(", since {:.6f} s after the system's start",
                       static_cast<double>(since) / 1e9);
  }
  return fmt::format(", for {}", detail::as_duration(*all.now > since ? *all.now - since : 0).text);
}

// The lock that the thread waits for; null if there is none.
const shown_lock* wanted_by(const account& all, pid_t thread) {
  for (const shown_lock& lock : all.found.locks) {
    for (const known_wait& each : lock.waiters) {
      if (each.thread == thread) return &lock;
    }
  }
  return nullptr;
}

void add_holder(std::string& page, const account& all, const known_hold& each) {
  page += wrapped(fmt::format("  held {} by {}{}", name_of(each.how),
                              shown(thread_text(all, each.thread)), since_text(all, each.since)),
                  4)
              .insert(0, "  ");
  add_frames(page, "taken in", each.taken_in);
  const shown_lock* const wanted = wanted_by(all, each.thread);
  if (wanted != nullptr) {
    page += fmt::format("    waits for lock {:#x}\n", wanted->address);
  } else {
    add_stack(page, all, all.is_core ? "was in  " : "now in  ", each.thread);
  }
}

void add_waiter(std::string& page, const account& all, const known_wait& each) {
  page += wrapped(fmt::format("  waited for by {}, {}{}{}", shown(thread_text(all, each.thread)),
                              wants(each.what), since_text(all, each.since),
                              each.since == 0     ? ", not asleep yet"
                              : each.has_deadline ? ", until a deadline"
                                                  : ""),
                  4)
              .insert(0, "  ");
  add_stack(page, all, "waits in", each.thread);
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void add_lock(std::string& page, const account& all, const shown_lock& lock) {
  page += wrapped(fmt::format("{}, {}{}", lock_text(all, lock.address),
                              lock.is_pthread ? "pthread_rwlock_t" : "lock of a class",
                              lock.is_biased ? ", biased" : ""),
                  2);
  if (!lock.is_there) {
    page += all.is_core ? "  its memory is not in the core file\n"
                        : "  its memory is no longer mapped: freed while it was held?\n";
  }
  constexpr std::string_view remedy = "(READMOST_LOCK_CHECK=1 tells)";
  for (const known_hold& each : lock.holders) add_holder(page, all, each);
  if (lock.unknown_writer) {
    page += fmt::format("  held exclusively, not known by whom {}\n", remedy);
  }
  if (lock.unknown_readers != 0) {
    page += fmt::format(
        "  held actively by {}, not known who {}\n",
        counted(lock.unknown_readers, lock.holders.empty() ? "reader" : "more reader"), remedy);
  }
  for (const known_wait& each : lock.waiters) add_waiter(page, all, each);
  if (lock.unknown_waiters != 0) {
    page += fmt::format("  waited for by {} more, not known who\n",
                        counted(lock.unknown_waiters, "thread"));
  }
}

}  // namespace

std::string_view name_of(held_how how) {
  switch (how) {
    case held_how::passively:
      return "passively";
    case held_how::actively:
      return "actively";
    case held_how::exclusively:
      break;
  }
  return "exclusively";
}

std::string_view name_of(waits_to what) {
  return what == waits_to::read ? "read" : what == waits_to::write ? "write" : "upgrade";
}

std::string thread_text(const account& all, pid_t thread) {
  const auto name = all.found.names.find(thread);
  return name == all.found.names.end() ? fmt::format("thread {}", thread)
                                       : fmt::format("thread {} ({})", thread, name->second);
}

std::string as_sentence(const account& all, const wait_cycle& cycle) {
  const auto& links = cycle.links;
  std::string text = fmt::format("deadlock: {}", thread_text(all, links.front().thread));
  for (std::size_t i = 0; i < links.size(); ++i) {
    const wait_cycle::link& each = links[i];
    const pid_t next = links[(i + 1) % links.size()].thread;
    text += fmt::format("{} waits {} for lock {:#x} ({}), ", i == 0 ? "" : ", which",
                        wants(each.what), each.lock, all.places.at(each.lock));
    const bool is_own = links.size() == 1;
    if (is_own) {
      text += fmt::format("which it holds {} itself", name_of(each.next_how));
    } else if (each.next_holds) {
      text += fmt::format("held {} by {}", name_of(each.next_how), thread_text(all, next));
    } else {
      text += fmt::format("behind {}", thread_text(all, next));
    }
  }
  return text;
}

std::string as_page(const account& all) {
  const snapshot& found = all.found;
  std::string page =
      wrapped(fmt::format("readmost {}: {}: {} held or waited for, {} with locks", READMOST_VERSION,
                          shown(all.title), counted(found.locks.size(), "lock"),
                          counted(found.threads, "thread")),
              2);
  for (const wait_cycle& each : found.deadlocks) {
    page += '\n' + wrapped(shown(as_sentence(all, each)), 2);
  }
  std::size_t waits_for_unknown = 0;
  for (const shown_lock& each : found.locks) {
    page += '\n';
    add_lock(page, all, each);
    const bool is_unknown = each.unknown_writer || each.unknown_readers != 0;
    if (is_unknown && !each.waiters.empty()) ++waits_for_unknown;
  }
  std::string notes;
  if (waits_for_unknown > 1) {
    notes += wrapped(
        fmt::format(
            "Threads wait for {} locks whose holders are not known: perhaps for each other. "
            "READMOST_LOCK_CHECK=1 tells.",
            waits_for_unknown),
        0);
  }
  if (!found.server.empty()) {
    notes += wrapped(
        fmt::format("pthread_rwlock_t is left to {}, of which nothing is known.", found.server), 0);
  }
  if (!found.all_held_are_known) {
    notes += wrapped(
        "Locks that are held exclusively or actively, and for which nobody waits, may be missing: "
        "under READMOST_LOCK_CHECK=1 or READMOST_STATS=1 all are found.",
        0);
  }
  if (!stacks_are_known()) {
    notes += wrapped("This build of the command shows no stacks: it was built without libdw.", 0);
  }
  return notes.empty() ? page : page + '\n' + notes;
}

}  // namespace readmost::command
