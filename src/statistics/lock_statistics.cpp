// SPDX-License-Identifier: Apache-2.0
#include "statistics/lock_statistics.hpp"

namespace readmost::detail {

namespace {

constexpr std::uint64_t writes_between_timed = 64;

platform::atomic<bool> backtraces_wanted{false};

// What belongs to the calling thread.
struct own_statistics {
  enum cells_are : std::uint32_t {
    missing,  // not there yet
    usable,
    busy,  // in use by the code that a signal handler has interrupted, or given back for good
  };
  cells_are state;
  tally_cells* cells;
  // The write hold that is being timed.
  std::uintptr_t timed_lock;
  std::uint64_t timed_since;
};
READMOST_THREAD_LOCAL own_statistics own{};

lock_table& the_table() noexcept {
  return *lock_statistics.table.load(platform::acquire);
}

lock_entry& entry_for(std::uintptr_t lock) noexcept {
  lock_table& table = the_table();
  return table.entries[entry_of(table, lock)];
}

// Adds to a counter of several threads. Release: a thread that reads the amount here no longer sees
// it at its source.
void add(counter& sum, std::uint64_t amount) noexcept {
  if (amount != 0) sum.fetch_add(amount, platform::release);
}

// Adds one to a counter of the calling thread; returns what it was before. Release: a thread that
// reads the count sees whose cell it is in.
std::uint64_t count_one(counter& of_own) noexcept {
  const std::uint64_t before = of_own.load(platform::relaxed);
  of_own.store(before + 1, platform::release);
  return before;
}

void raise(counter& longest, std::uint64_t nanoseconds) noexcept {
  std::uint64_t known = longest.load(platform::relaxed);
  while (known < nanoseconds &&
         !longest.compare_exchange_weak(known, nanoseconds, platform::relaxed)) {
  }
}

using cell = tally_cells::cell;
using cell_set = cell (&)[tally_cells::ways];

// Moves the counts in a cell to their lock's entry. The cell is free then.
void empty_cell(cell& from) noexcept {
  const std::uintptr_t lock = from.lock.load(platform::relaxed);
  if (lock == 0) return;
  from.lock.store(0, platform::relaxed);
  lock_entry& entry = entry_for(lock);
  add(entry.passive_reads, from.passive_reads.load(platform::relaxed));
  add(entry.active_reads, from.active_reads.load(platform::relaxed));
  add(entry.writes, from.writes.load(platform::relaxed));
}

cell& assign_cell(cell& to, std::uintptr_t lock) noexcept {
  to.passive_reads.store(0, platform::relaxed);
  to.active_reads.store(0, platform::relaxed);
  to.writes.store(0, platform::relaxed);
  // Release: a thread that reads the lock here does not see the counts of the previous one.
  to.lock.store(lock, platform::release);
  return to;
}

// Cells that no thread owns, or new ones; null without memory.
tally_cells* take_cells() noexcept {
  tally_cells* const first = lock_statistics.cells.load(platform::acquire);
  for (tally_cells* left = first; left != nullptr; left = left->next.load(platform::relaxed)) {
    // Acquire pairs with the release in give_cells_back(): the last owner no longer uses them.
    if (left->owned.load(platform::relaxed) == 0 &&
        left->owned.exchange(1, platform::acquire) == 0) {
      return left;
    }
  }
  auto* fresh = static_cast<tally_cells*>(platform::map_pages(sizeof(tally_cells)));
  if (fresh == nullptr) return nullptr;
  fresh->owned.store(1, platform::relaxed);
  tally_cells* head = first;
  do {
    fresh->next.store(head, platform::relaxed);
  } while (!lock_statistics.cells.compare_exchange_weak(head, fresh, platform::acq_rel,
                                                        platform::acquire));
  return fresh;
}

cell_set set_of(tally_cells& cells, std::uintptr_t lock) noexcept {
  constexpr unsigned shift = 64 - std::bit_width(tally_cells::sets - 1);
  return cells.cells[scattered(lock) >> shift];
}

// The lock gets a cell of the set, if need be that of another lock.
cell& make_cell(tally_cells& cells, std::uintptr_t lock) noexcept {
  cell_set set = set_of(cells, lock);
  for (cell& each : set) {
    const std::uintptr_t of = each.lock.load(platform::relaxed);
    if (of == lock) return each;  // a signal handler was faster
    if (of == 0) return assign_cell(each, lock);
  }
  cell& victim = set[cells.evictions++ % tally_cells::ways];
  empty_cell(victim);
  return assign_cell(victim, lock);
}

constexpr std::uint64_t unknown = ~std::uint64_t{0};

// count() for a lock without a cell, and for a thread that cannot use its cells at the moment.
[[gnu::noinline]] std::uint64_t count_otherwise(std::uintptr_t lock, counter cell::* in_cell,
                                                counter lock_entry::* in_entry) noexcept {
  if (own.state != own_statistics::busy) {
    own.state = own_statistics::busy;
    platform::signal_fence();
    if (own.cells == nullptr) own.cells = take_cells();
    const bool has_cells = own.cells != nullptr;
    const std::uint64_t counted =
        has_cells ? count_one(make_cell(*own.cells, lock).*in_cell) : unknown;
    platform::signal_fence();
    own.state = has_cells ? own_statistics::usable : own_statistics::missing;
    if (has_cells) return counted;
  }
  add(entry_for(lock).*in_entry, 1);
  return unknown;
}

// Counts one operation in the calling thread's cell for the lock, else in the lock's entry. Returns
// the cell's count before. A signal handler finds the cells busy, so it cannot give a cell that is
// being written to another lock.
[[gnu::always_inline]] inline std::uint64_t count(std::uintptr_t lock, counter cell::* in_cell,
                                                  counter lock_entry::* in_entry) noexcept {
  if (own.state != own_statistics::usable) [[unlikely]]
    return count_otherwise(lock, in_cell, in_entry);
  own.state = own_statistics::busy;
  platform::signal_fence();
#pragma GCC unroll 3
  for (cell& each : set_of(*own.cells, lock)) {
    if (each.lock.load(platform::relaxed) != lock) continue;
    const std::uint64_t before = count_one(each.*in_cell);
    platform::signal_fence();
    own.state = own_statistics::usable;
    return before;
  }
  own.state = own_statistics::usable;
  return count_otherwise(lock, in_cell, in_entry);
}

}  // namespace

std::size_t entry_of(lock_table& table, std::uintptr_t lock) noexcept {
  constexpr unsigned shift = 64 - std::bit_width(lock_table::places_count - 1);
  std::size_t place = scattered(lock) >> shift;
  std::uint32_t fresh = 0;
  for (;;) {
    std::uint32_t number = table.places[place].load(platform::acquire);
    if (number == 0) {
      if (fresh == 0) {
        if (table.used.load(platform::relaxed) >= lock_table::capacity) return lock_table::others;
        fresh = table.used.fetch_add(1, platform::acq_rel) + 1;
        if (fresh > lock_table::capacity) return lock_table::others;
        table.entries[fresh - 1].lock.store(lock, platform::relaxed);
      }
      // Release: a thread that finds the number finds the entry filled.
      if (table.places[place].compare_exchange_strong(number, fresh, platform::acq_rel,
                                                      platform::acquire)) {
        return fresh - 1;
      }
    }
    if (table.entries[number - 1].lock.load(platform::relaxed) == lock) {
      // Another thread was faster; the new entry stays empty.
      if (fresh != 0) table.entries[fresh - 1].lock.store(0, platform::relaxed);
      return number - 1;
    }
    place = (place + 1) % lock_table::places_count;
  }
}

constinit platform::atomic<bool> lock_statistics_on_{false};
constinit lock_statistics_roots lock_statistics{};

void enable_lock_statistics(bool backtraces) noexcept {
  if (backtraces) backtraces_wanted.store(true, platform::relaxed);
  if (lock_statistics.table.load(platform::acquire) == nullptr) {
    auto* fresh = static_cast<lock_table*>(platform::map_pages(sizeof(lock_table)));
    lock_table* expected = nullptr;
    if (fresh == nullptr ||
        !lock_statistics.table.compare_exchange_strong(expected, fresh, platform::acq_rel)) {
      return;
    }
  }
  lock_statistics_on_.store(true, platform::release);
  lock_delays_noted_.store(true, platform::relaxed);
}

void note_meeting(std::uintptr_t lock) noexcept {
  lock_table& table = the_table();
  const std::size_t number = entry_of(table, lock);
  table.entries[number].incarnations.fetch_add(1, platform::relaxed);
  if (!backtraces_wanted.load(platform::relaxed) || number == lock_table::others) return;
  std::uintptr_t frames[lock_origin::capacity]{};
  platform::backtrace(frames, lock_origin::capacity);
  for (std::size_t i = 0; i < lock_origin::capacity; ++i) {
    table.origins[number].frames[i].store(frames[i], platform::relaxed);
  }
}

void note_read(std::uintptr_t lock, bool passive) noexcept {
  if (passive) {
    count(lock, &cell::passive_reads, &lock_entry::passive_reads);
  } else {
    count(lock, &cell::active_reads, &lock_entry::active_reads);
  }
}

void note_write(std::uintptr_t lock) noexcept {
  if (count(lock, &cell::writes, &lock_entry::writes) % writes_between_timed != 0) return;
  own.timed_since = platform::now();
  own.timed_lock = lock;
}

void note_write_end(std::uintptr_t lock) noexcept {
  if (own.timed_lock != lock) return;
  own.timed_lock = 0;
  raise(entry_for(lock).longest_write, platform::now() - own.timed_since);
}

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept {
  lock_table& table = the_table();
  const std::size_t number = entry_of(table, lock);
  lock_waits& waits = table.waits[number];
  wait_histogram& histogram = writer ? waits.writers : waits.readers;
  histogram.waits[wait_histogram::step_of(nanoseconds)].fetch_add(1, platform::relaxed);
  histogram.total.fetch_add(nanoseconds, platform::relaxed);
  raise(histogram.longest, nanoseconds);
  auto& has_waits = table.entries[number].has_waits;
  if (!has_waits.load(platform::relaxed)) has_waits.store(true, platform::relaxed);
}

void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept {
  lock_entry& entry = entry_for(lock);
  add(entry.revocations[static_cast<std::size_t>(how)], 1);
  add(entry.revoking, nanoseconds);
}

void note_drain(std::uintptr_t lock, std::uint64_t nanoseconds) noexcept {
  raise(entry_for(lock).longest_drain, nanoseconds);
}

void give_cells_back() noexcept {
  own.state = own_statistics::busy;
  platform::signal_fence();
  own.timed_lock = 0;
  if (own.cells == nullptr) return;
  for (auto& set : own.cells->cells) {
    for (cell& each : set) empty_cell(each);
  }
  own.cells->owned.store(0, platform::release);
  own.cells = nullptr;
}

void forget_lock_statistics() noexcept {
  if (!lock_statistics_on()) return;
  lock_table& table = the_table();
  for (std::size_t number = 0; number <= lock_table::capacity; ++number) {
    if (number >= table.entries_used() && number != lock_table::others) continue;
    const bool has_waits = table.entries[number].has_waits.load(platform::relaxed);
    const std::uintptr_t lock = table.entries[number].lock.load(platform::relaxed);
    __builtin_memset(static_cast<void*>(&table.entries[number]), 0, sizeof(lock_entry));
    table.entries[number].lock.store(lock, platform::relaxed);
    if (has_waits) {
      __builtin_memset(static_cast<void*>(&table.waits[number]), 0, sizeof(lock_waits));
    }
  }
  for (tally_cells* c = lock_statistics.cells.load(platform::relaxed); c != nullptr;
       c = c->next.load(platform::relaxed)) {
    __builtin_memset(static_cast<void*>(c->cells), 0, sizeof c->cells);
    if (c != own.cells) c->owned.store(0, platform::relaxed);
  }
  own.timed_lock = 0;
}

}  // namespace readmost::detail
