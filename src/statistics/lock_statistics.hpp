// Statistics per lock: what the core calls while it works. Nothing here allocates, waits or touches
// the lock; the calling thread's own counts cost it only lines of its own. Without statistics
// nothing of this is called (lock_statistics_on()). Locks are known by their addresses alone.
//
// Exact but for two things: a signal handler that locks within a lock operation of its thread may
// have a read counted for the other lock, and a thread's operations after its exit are not counted.
#pragma once

#include <readmost/detail/statistics/lock_statistics_on.hpp>

#include "statistics/lock_table.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

// From now on counts per lock, and with `backtraces` remembers who used each lock first. To be
// called before the program's threads start; again is harmless. Does nothing where there is no
// memory.
void enable_lock_statistics(bool backtraces) noexcept;

// The first use of a lock's memory as a lock, and again after it was made anew.
void note_meeting(std::uintptr_t lock) noexcept;

// Before a read that the caller will count by `slot` of its record: the slot's counts are the
// lock's from now on. A read that is not counted there, because the hold is not in its home slot,
// is counted here. Needed for each read whose home slot is not free and last used by `lock`.
void note_read(thread_record& me, std::size_t slot, std::uintptr_t lock, bool passive) noexcept;

// Where a fast path found the home slot free, but last used by another lock: makes it the lock's,
// so that the fast path can be tried again. False if there is nothing to be gained. Without
// statistics a free slot is at hand for every lock.
bool take_slot(thread_record& me, std::uintptr_t lock) noexcept;
inline bool take_slot_if_free(thread_record& me, std::uintptr_t lock) noexcept {
  return lock_statistics_on() &&
         me.held[home_slot(lock)].load(platform::relaxed) != (lock | held_free) &&
         take_slot(me, lock);
}

// Inside the write hold. One in 64 is timed, a thread's first of a lock among them.
void note_write(thread_record& me, std::uintptr_t lock) noexcept;
// Still inside.
void end_timed_write(thread_record& me) noexcept;
inline void note_write_end(thread_record& me, std::uintptr_t lock) noexcept {
  if (me.timed_lock == lock) end_timed_write(me);
}

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept;

// Inside the claim.
void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept;

// A writer waited that long for readers who were inside.
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
