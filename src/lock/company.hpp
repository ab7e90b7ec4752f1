// SPDX-License-Identifier: Apache-2.0
// Whether threads that use a lock at the same time get more done than one of them would alone.
//
// Where the lock's line and what it protects move between CPUs at every operation, they do not;
// where the CPUs share a cache, as two of one core, they do. A thread that has to wait for the lock
// compares the time that its operations have taken since it last waited, or in a stretch with
// several waits, with the time that they take while it meets nobody.
#pragma once

#include <algorithm>
#include <readmost/detail/lock/rwlock.hpp>

#include "platform/known_cpus.hpp"

namespace readmost::detail::company {

enum class benefit {
  unknown,
  some,
  none,
};

// All lock operations of the thread; passive reads of locks with this home slot only.
inline std::uint64_t operations_of(const thread_record& me, const rwlock& lock) noexcept {
  return active_reads_of(me) + me.writes.load(platform::relaxed) +
         me.reads[home_slot(&lock)].load(platform::relaxed);
}

inline void begin_stretch(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept {
  me.stretch_began = now;
  me.stretch_operations = operations_of(me, lock);
  me.stretch_writes = me.writes.load(platform::relaxed);
}

// The functions that judge are called when the thread begins to wait. Precondition: it has waited
// for this lock before, and for no other one since.

// Where threads may outnumber the CPUs. None: one thread alone would do twice as much as all.
// Begins the next stretch if this one is long enough to tell.
inline benefit judge_crowd(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept {
  constexpr std::uint64_t enough = 8;
  constexpr std::uint64_t longest = 100'000;
  const std::uint64_t alone = me.time_alone;
  const std::uint64_t operations = operations_of(me, lock) - me.stretch_operations;
  if (operations < enough) return alone == 0 ? benefit::unknown : benefit::some;
  const std::uint64_t time = now - me.stretch_began;
  const std::uint64_t each = time / operations;
  const std::uint64_t next = alone + alone / 16 + 1;
  me.time_alone = alone == 0 || each < next ? each + 1 : next;
  begin_stretch(me, lock, now);
  if (alone == 0) return benefit::unknown;
  const std::uint64_t at_a_time = std::max(known_cpus(), 2U);
  return time < longest && each > 2 * alone * at_a_time ? benefit::none : benefit::some;
}

// What threads have found an operation to take alone, by the lock's address; 0 if nothing. For
// threads that are never alone themselves.
platform::atomic<std::uint32_t>& known_time_alone(const rwlock& lock) noexcept;

// Whether the thread has run, from the end of its last wait to now, for less than half of its share
// if `threads` ran by turns, one at a time: so one that ran alone would do twice as much as all.
// Each that waits is woken for so little then that most of the time goes into switches of threads.
inline bool has_hardly_run(const thread_record& me, std::uint64_t now, unsigned threads) noexcept {
  return me.wait_lasted > 2 * threads * (now - me.wait_ended);
}

struct pair_judgment {
  // Of two threads at a time, each on a CPU of its own. None: one alone would do more.
  benefit together = benefit::unknown;
  // Whether to look at the lock often while waiting for it: it is likely to be free soon, and a
  // look does not cost the thread inside much.
  bool looks_often = false;
};

// Where all threads have CPUs. Says `none` only at the end of a stretch, so that the next verdict
// takes another one. Unknown also for some absences after company was far from paying, and to a
// thread that does little but write.
pair_judgment judge_pair(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept;
// The thread stays away, though it and all others have CPUs.
void note_absence(thread_record& me) noexcept;

// Whether several stretches have said lately that company pays where all threads have CPUs.
// Precondition as above.
inline bool has_paid(const thread_record& me) noexcept {
  return me.for_company > 0;
}

// The wait is over that began then, or when nobody looked if that is 0. What the thread spun for is
// time that the next operations have taken; but while it slept, other threads had its CPU.
inline void end_wait(thread_record& me, const rwlock& lock, std::uint64_t began,
                     std::uint64_t now) noexcept {
  constexpr std::uint64_t longest_spin = 15'000;
  if (me.waited_for != address(lock)) {
    me.time_alone = 0;
    me.for_company = 0;
  }
  if (began == 0 || now - began > longest_spin) begin_stretch(me, lock, now);
  me.wait_lasted = began == 0 ? 0 : now - began;
  me.wait_ended = now;
  me.operations_at_wait = operations_of(me, lock);
}

}  // namespace readmost::detail::company
