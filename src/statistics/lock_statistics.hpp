// SPDX-License-Identifier: Apache-2.0
// Statistics per lock: the functions that lock operations call, and only while
// lock_statistics_on(). They do not allocate, wait or touch the lock, which they know by its
// address alone; a thread's own counts are on cache lines of its own.
//
// The counts are exact, those of signal handlers included: a handler that interrupts a count of its
// thread counts in the entry instead. A thread's operations after its exit are not counted.
#pragma once

#include <readmost/detail/statistics/lock_statistics_on.hpp>
#include <readmost/detail/threads/domain.hpp>

#include "statistics/lock_table.hpp"

namespace readmost::detail {

// Starts to count per lock; with `backtraces` also records the call stack of each lock's first use.
// Precondition: the program's threads have not started yet. Repeated calls are harmless. Without
// memory it does nothing.
void enable_lock_statistics(bool backtraces) noexcept;

// Called at the first use of a lock, and again at the first use of a new lock at the same address.
void note_meeting(std::uintptr_t lock) noexcept;

// Each counts one operation of the calling thread: a read; the beginning of a write hold, which is
// timed if it is the thread's first of the lock, or one in 64; and the end of a write hold.
// Precondition: the thread has a record; its exit gives the cells back.
void note_read(std::uintptr_t lock, bool passive) noexcept;
void note_write(std::uintptr_t lock) noexcept;
void note_write_end(std::uintptr_t lock) noexcept;

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept;

// Called during the claim.
void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept;

// Called after a writer has waited that long for readers inside.
void note_drain(std::uintptr_t lock, std::uint64_t nanoseconds) noexcept;

// Takes the calling thread's cells for other threads to use. What it counts afterwards goes to the
// entries at once.
void give_cells_back() noexcept;

// In a fork's child: everything counted so far is the parent's.
void forget_lock_statistics() noexcept;

// Calls visit(lock, passive reads, active reads, writes) for the operations that are still in
// threads' cells. Precondition: the caller has read the entries already.
template <class Visit>
void for_each_live_count(Visit visit) noexcept {
  for (const tally_cells* c = lock_statistics.cells.load(platform::acquire); c != nullptr;
       c = c->next.load(platform::acquire)) {
    for (const auto& set : c->cells) {
      for (const auto& cell : set) visit_cell(cell, visit);
    }
  }
}

}  // namespace readmost::detail
