// SPDX-License-Identifier: Apache-2.0
// Data of the statistics per lock: one entry for each lock's address, in pages that are mapped when
// statistics are switched on. A thread counts in cells of its own, and counts move from there to
// the entries. Each is subtracted before it is added, so a thread that reads entries first and
// cells afterwards never counts an operation twice; it misses counts in transit.
#pragma once

#include <bit>
#include <readmost/detail/threads/thread_record.hpp>

namespace readmost::detail {

using counter = platform::atomic<std::uint64_t>;

// Durations in nanoseconds: four steps an octave, up to 137 seconds.
struct wait_histogram {
  static constexpr std::size_t steps = 144;

  static constexpr std::size_t step_of(std::uint64_t nanoseconds) noexcept {
    if (nanoseconds < 4) return static_cast<std::size_t>(nanoseconds);
    const auto octave = static_cast<std::size_t>(std::bit_width(nanoseconds)) - 1;
    const std::size_t step = (octave - 1) * 4 + (nanoseconds >> (octave - 2) & 3);
    return step < steps ? step : steps - 1;
  }

  // The first duration of the next step.
  static constexpr std::uint64_t end_of(std::size_t step) noexcept {
    if (step < 4) return step + 1;
    return (step % 4 + 5) << (step / 4 - 1);
  }

  counter waits[steps]{};
  counter total{};
  counter longest{};
};
static_assert(wait_histogram::step_of(wait_histogram::end_of(100)) == 101);
static_assert(wait_histogram::step_of(wait_histogram::end_of(100) - 1) == 100);
static_assert(wait_histogram::step_of(wait_histogram::end_of(3)) == 4);

struct lock_entry {
  alignas(platform::cache_line) platform::atomic<std::uintptr_t> lock{};
  counter incarnations{};  // locks that have been at this address
  counter passive_reads{};
  counter active_reads{};
  counter writes{};
  counter revocations[3]{};  // by round_kind
  counter revoking{};        // nanoseconds
  counter longest_write{};
  counter longest_drain{};
  platform::atomic<bool> has_waits{};  // there is something in its lock_waits
};

struct lock_waits {
  wait_histogram readers;
  wait_histogram writers;
};

// Return addresses of the thread that used the lock first, innermost first.
struct lock_origin {
  static constexpr std::size_t capacity = 24;  // 16, and the library's own among them
  platform::atomic<std::uintptr_t> frames[capacity]{};
};

struct lock_table {
  static constexpr std::size_t capacity = std::size_t{1} << 14;
  static constexpr std::size_t places_count = 2 * capacity;
  static constexpr std::size_t others = capacity;  // the entry of all locks without a place

  platform::atomic<std::uint32_t> used{};  // entries handed out; may exceed the capacity
  // Open addressing by the lock's address: number of the entry plus one.
  platform::atomic<std::uint32_t> places[places_count]{};
  lock_entry entries[capacity + 1]{};
  lock_waits waits[capacity + 1]{};
  lock_origin origins[capacity + 1]{};

  std::size_t entries_used() const noexcept {
    const std::size_t count = used.load(platform::acquire);
    return count < capacity ? count : capacity;
  }
};

// A thread's counts of the locks that it used last, on cache lines that no other thread writes.
struct tally_cells {
  static constexpr std::size_t sets = 32;
  static constexpr std::size_t ways = 3;

  struct cell {
    platform::atomic<std::uintptr_t> lock{};
    counter passive_reads{};
    counter active_reads{};
    counter writes{};
  };

  platform::atomic<tally_cells*> next{};
  platform::atomic<std::uint32_t> owned{};
  std::uint32_t evictions{};
  cell cells[sets][ways]{};
};

// Calls visit(lock, passive reads, active reads, writes) for a cell in use.
template <class Visit>
void visit_cell(const tally_cells::cell& cell, Visit visit) noexcept {
  const std::uintptr_t lock = cell.lock.load(platform::acquire);
  if (lock == 0) return;
  const std::uint64_t passive = cell.passive_reads.load(platform::acquire);
  const std::uint64_t active = cell.active_reads.load(platform::acquire);
  const std::uint64_t writes = cell.writes.load(platform::acquire);
  // Another lock may have got the cell meanwhile.
  if (cell.lock.load(platform::relaxed) == lock) visit(lock, passive, active, writes);
}

// The number of the lock's entry, which is created if necessary; `others` when the table is full.
std::size_t entry_of(lock_table& table, std::uintptr_t lock) noexcept;

// Null until statistics are switched on; never unmapped.
struct lock_statistics_roots {
  platform::atomic<lock_table*> table{};
  platform::atomic<tally_cells*> cells{};
};
extern lock_statistics_roots lock_statistics;

}  // namespace readmost::detail
