// Statistics per lock: the functions that lock operations call, and only while
// lock_statistics_on(). They do not allocate, wait or touch the lock, which they know by its
// address alone; a thread's own counts are on cache lines of its own.
//
// The counts are exact, with two exceptions: a read by a signal handler that interrupts a lock
// operation of its thread may be counted for the other lock, and a thread's operations after its
// exit are not counted.
#pragma once

#include <readmost/detail/statistics/lock_statistics_on.hpp>

#include "statistics/lock_table.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

// Starts to count per lock; with `backtraces` also records the call stack of each lock's first use.
// Precondition: the program's threads have not started yet. Repeated calls are harmless. Without
// memory it does nothing.
void enable_lock_statistics(bool backtraces) noexcept;

// Called at the first use of a lock, and again at the first use of a new lock at the same address.
void note_meeting(std::uintptr_t lock) noexcept;

// Called before a read that the caller will count by `slot` of its record: from now on the slot's
// counts belong to the lock. A read whose hold is not in its home slot is counted here. Needed
// unless the home slot is free and `lock` used it last.
void note_read(thread_record& me, std::size_t slot, std::uintptr_t lock, bool passive) noexcept;

// If the home slot is free but another lock used it last, makes it the lock's, so that the fast
// path can be tried again; otherwise false. Without statistics every lock can use a free slot.
bool take_slot(thread_record& me, std::uintptr_t lock) noexcept;
inline bool take_slot_if_free(thread_record& me, std::uintptr_t lock) noexcept {
  return lock_statistics_on() &&
         me.held[home_slot(lock)].load(platform::relaxed) != (lock | held_free) &&
         take_slot(me, lock);
}

// Called when a write hold begins. Times one hold in 64, and each thread's first hold of a lock.
void note_write(thread_record& me, std::uintptr_t lock) noexcept;
// Called when a write hold ends.
void end_timed_write(thread_record& me) noexcept;
inline void note_write_end(thread_record& me, std::uintptr_t lock) noexcept {
  if (me.timed_lock == lock) end_timed_write(me);
}

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept;

// Called during the claim.
void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept;

// Called after a writer has waited that long for readers inside.
void note_drain(std::uintptr_t lock, std::uint64_t nanoseconds) noexcept;

// Takes the tallies of a thread whose record is about to become another's; its slots are empty
// afterwards.
void flush_tallies(thread_record& me) noexcept;

// In a fork's child: everything counted so far is the parent's.
void forget_lock_statistics() noexcept;

// Calls visit(lock, passive reads, active reads, writes) for the operations that are still in
// threads' cells and tallies. Precondition: the caller has read the entries already.
template <class Visit>
void for_each_live_count(Visit visit) noexcept {
  for (const tally_cells* c = lock_statistics.cells.load(platform::acquire); c != nullptr;
       c = c->next.load(platform::acquire)) {
    for (const auto& set : c->cells) {
      for (const auto& cell : set) visit_cell(cell, visit);
    }
  }
  for_each_domain([&](domain& d) {
    for_each_record(d, [&](const thread_record& record, bool) { visit_tallies(record, visit); });
  });
}

}  // namespace readmost::detail
