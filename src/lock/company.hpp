// SPDX-License-Identifier: Apache-2.0
// Whether threads that use a lock at the same time get more done than one of them would alone.
//
// Where the lock's line and what it protects move between CPUs at every operation, they do not. A
// thread that has to wait for the lock compares the time that its operations have taken since it
// last waited with the time that they take while it meets nobody.
#pragma once

#include <algorithm>
#include <readmost/detail/lock/rwlock.hpp>

#include "platform/known_cpus.hpp"

namespace readmost::detail::company {

enum class benefit {
  unknown,
  some,
  none,  // one thread alone would do twice as much as all
};

// All lock operations of the thread; passive reads of locks with this home slot only.
inline std::uint64_t operations_of(const thread_record& me, const rwlock& lock) noexcept {
  return active_reads_of(me) + me.writes.load(platform::relaxed) +
         me.reads[home_slot(&lock)].load(platform::relaxed);
}

inline void begin_stretch(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept {
  me.stretch_began = now;
  me.stretch_operations = operations_of(me, lock);
}

// The thread begins to wait. Begins the next stretch if this one is long enough to tell.
// Precondition: it has waited for this lock before, and for no other one since.
inline benefit judge_stretch(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept {
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

// The wait is over that began then, or when nobody looked if that is 0. What the thread spun for is
// time that the next operations have taken; but while it slept, other threads had its CPU.
inline void end_wait(thread_record& me, const rwlock& lock, std::uint64_t began,
                     std::uint64_t now) noexcept {
  constexpr std::uint64_t longest_spin = 15'000;
  if (me.waited_for != address(lock)) me.time_alone = 0;
  if (began == 0 || now - began > longest_spin) begin_stretch(me, lock, now);
}

}  // namespace readmost::detail::company
