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
// To be called before the program's threads start; again is harmless. Without memory it does
// nothing.
void enable_lock_statistics(bool backtraces) noexcept;

// At the first use of a lock, and again when a new lock at its address is used first.
void note_meeting(std::uintptr_t lock) noexcept;

// Before a read that the caller will count by `slot` of its record: from now on the slot's counts
// are the lock's. A read whose hold is not in its home slot is counted here. Needed unless the home
// slot is free and `lock` used it last.
void note_read(thread_record& me, std::size_t slot, std::uintptr_t lock, bool passive) noexcept;

// If the home slot is free but another lock used it last, makes it the lock's, so that the fast
// path can be tried again; otherwise false. Without statistics every lock can use a free slot.
bool take_slot(thread_record& me, std::uintptr_t lock) noexcept;
inline bool take_slot_if_free(thread_record& me, std::uintptr_t lock) noexcept {
  return lock_statistics_on() &&
         me.held[home_slot(lock)].load(platform::relaxed) != (lock | held_free) &&
         take_slot(me, lock);
}

// At the begin of a write hold. Times one hold in 64, and each thread's first hold of a lock.
void note_write(thread_record& me, std::uintptr_t lock) noexcept;
// At the end of a write hold.
void end_timed_write(thread_record& me) noexcept;
inline void note_write_end(thread_record& me, std::uintptr_t lock) noexcept {
  if (me.timed_lock == lock) end_timed_write(me);
}

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept;

// During the claim.
void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept;

// After a writer has waited so long for readers inside.
void note_drain(std::uintptr_t lock, std::uint64_t nanoseconds) noexcept;

// Takes the tallies of a thread whose record is about to become another's; its slots are empty
// afterwards.
void flush_tallies(thread_record& me) noexcept;

// In a fork's child: everything counted so far is the parent's.
void forget_lock_statistics() noexcept;

// Calls visit(lock, passive reads, active reads, writes) for what threads still keep to themselves.
// To be called after the entries were read.
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
