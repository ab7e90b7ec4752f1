// SPDX-License-Identifier: Apache-2.0
// brlock2: a flag per reader and one for the writer; each thread raises its own flag and reads the
// other side's.
//
// Source: Chen et al., FCP (IEEE TPDS 27(10), 2016), section 2 "brlock2"; Linux 2.4
// include/linux/brlock.h and lib/brlock.c without __BRLOCK_USE_ATOMICS.
//
// A reader raises its flag by a plain store and a full fence, and enters unless it then sees a
// writer; if it does it lowers the flag and waits. A writer takes the writers' lock and waits until
// all flags are down.
//
// Simplified: a kernel's CPU owns its flag because no thread is preempted inside; here the flag is
// a thread's, by its number (home.hpp). Threads beyond the flags share a counter and pay for an
// atomic. Linux's writer steps back when it sees a flag; then a reader and a writer can step back
// from each other for ever, as the checker finds, so here the writer stays, and a flag that is up
// already is raised again without a check.
//
// Reader: one store with a full fence to lock, one store to unlock, on a line of its own. Writer:
// one read-modify-write and a load of every flag, two flags for each CPU. Preference: writers.
// Recursive read locks: yes, for readers with a flag. Size: one line, and a line per flag.
#pragma once

#include "rivals/flag_lock.hpp"

namespace rivals {

using reader_flags = spread_array<platform::atomic<std::uint32_t>>;

class alignas(platform::cache_line) brlock_flags : public flag_lock<std::uint32_t, reader_flags> {
 public:
  brlock_flags() noexcept : brlock_flags(seats()) {}
  // For so many threads with flags of their own.
  explicit brlock_flags(unsigned flags) noexcept : flag_lock(flags) {}

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(brlock_flags) + reader_flags::footprint(seats_for(cpus));
  }
};

}  // namespace rivals
