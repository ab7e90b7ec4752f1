// SPDX-License-Identifier: Apache-2.0
#include "rcu/stall.hpp"

#include <algorithm>

#include "platform/address_space.hpp"
#include "rcu/misuse.hpp"
#include "rcu/retired_queue.hpp"

namespace readmost::detail {

namespace {

constexpr std::uint64_t default_limit = 10'000;  // milliseconds
constexpr std::uint64_t not_read_yet = UINT64_MAX;
constexpr std::uint64_t millisecond = 1'000'000;

constinit platform::atomic<std::uint64_t> limit{not_read_yet};

constinit platform::atomic<rcu_statistics (*)(domain& d) noexcept> backlog_figures{nullptr};

// --- At most one in a while ----------------------------------------------------------------------

enum kind_of_warning : std::uint8_t { by_reader, by_deleter, by_backlog, kinds_of_warnings };

// When each was written last, in nanoseconds of platform::now(); 0: never.
constinit platform::atomic<std::uint64_t> written[max_domains][kinds_of_warnings];

bool is_due(const domain& d, kind_of_warning kind) noexcept {
  const std::uint64_t between = stall_limit();
  if (between == 0) return false;
  auto& last = written[number_of(d)][kind];
  std::uint64_t before = last.load(platform::relaxed);
  const std::uint64_t now = platform::now();
  return (before == 0 || now - before >= between) &&
         last.compare_exchange_strong(before, now, platform::relaxed, platform::relaxed);
}

// --- The text ------------------------------------------------------------------------------------

void add_domain(text_buffer& t, const domain& d) noexcept {
  t.add("process %d, domain %u", platform::process_id(), number_of(d));
}

void add_backlog(text_buffer& t, domain& d) noexcept {
  const auto figures_of = backlog_figures.load(platform::acquire);
  if (figures_of == nullptr) return;
  const rcu_statistics figures = figures_of(d);
  t.add("  waiting: %llu objects, %llu bytes\n", static_cast<unsigned long long>(figures.waiting),
        static_cast<unsigned long long>(figures.waiting_bytes));
}

void add_function_of(text_buffer& t, const retired_kind* kind) noexcept {
  const std::uintptr_t function = address_of_deleter(kind);
  const address_space space("/proc/self", symbol_names::mangled);
  char name[600];
  describe(space.place_of(function), name, sizeof name);
  t.add("  in %s\n", name);
}

void add_number(text_buffer& t, unsigned deleters) noexcept {
  if (deleters == 1) {
    t.add("a deleter");
  } else {
    t.add("%u deleters", deleters);
  }
}

}  // namespace

std::uint64_t stall_limit() noexcept {
  std::uint64_t now = limit.load(platform::relaxed);
  if (now != not_read_yet) return now;
  const std::uint64_t read =
      milliseconds_in("READMOST_RCU_STALL_LIMIT", default_limit) * millisecond;
  limit.compare_exchange_strong(now, read, platform::relaxed, platform::relaxed);
  return limit.load(platform::relaxed);
}

void warn_of_stalls_after(std::uint64_t nanoseconds) noexcept {
  limit.store(nanoseconds == not_read_yet ? 0 : nanoseconds, platform::relaxed);
}

void tell_stalls_of_backlog(rcu_statistics (*figures)(domain& d) noexcept) noexcept {
  backlog_figures.store(figures, platform::release);
}

void warn_of_stall(domain& d, const thread_record* reader, std::uint64_t nanoseconds) noexcept {
  if (!is_due(d, by_reader)) return;
  text_buffer t;
  t.add("readmost: warning: a grace period has been waiting for a reader for ");
  add_seconds(t, nanoseconds);
  t.add("\n  ");
  if (reader != nullptr) {
    add_thread(t, reader->thread.load(platform::relaxed));
  } else {
    t.add("a thread without a record");
  }
  t.add(" of ");
  add_domain(t, d);
  t.add(", is in a read section\n");
  add_backlog(t, d);
  if (reader != nullptr) add_entry(t, *reader);
  write_report(t);
}

void warn_of_slow_deleters(const domain& d, const retired_kind* const* kinds, unsigned count,
                           std::uint64_t nanoseconds, bool replaced) noexcept {
  if (count == 0 || !is_due(d, by_deleter)) return;
  text_buffer t;
  t.add("readmost: warning: ");
  add_number(t, count);
  t.add(" took ");
  add_seconds(t, nanoseconds);
  t.add(replaced ? ", and another thread ran the others\n  " : ", and all others had to wait\n  ");
  add_domain(t, d);
  t.add("\n");
  for (unsigned i = 0; i < count; ++i) {
    if (std::find(kinds, kinds + i, kinds[i]) == kinds + i) add_function_of(t, kinds[i]);
  }
  write_report(t);
}

void warn_of_running_deleter(const domain& d, const retired_kind* kind, std::uint64_t nanoseconds,
                             bool replaced) noexcept {
  if (!is_due(d, by_deleter)) return;
  text_buffer t;
  t.add("readmost: warning: a deleter has been running for ");
  add_seconds(t, nanoseconds);
  t.add(replaced ? ", and another thread runs the others\n  " : ", and all others wait\n  ");
  add_domain(t, d);
  t.add("\n");
  add_function_of(t, kind);
  write_report(t);
}

void warn_of_backlog(domain& d) noexcept {
  if (!is_due(d, by_backlog)) return;
  text_buffer t;
  t.add("readmost: warning: the backlog is above its limit\n  thread %d of ",
        platform::thread_id());
  add_domain(t, d);
  t.add("\n");
  add_backlog(t, d);
  write_report(t);
}

}  // namespace readmost::detail
