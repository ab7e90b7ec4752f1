// SPDX-License-Identifier: Apache-2.0
// Names every scenario and adds those that fit a lock to the catalogue.
//
// A lock has the members of std::shared_mutex, is unlocked when default-constructed, and declares
// its properties:
//   prefers_readers     readers get in while writers wait
//   recursive_reads     a reader may lock for reading again while writers wait
//   timed               has deadlines of both clocks (see pthread_lock.hpp); if it upgrades, also
//                       try_upgrade_for()
//   upgrades            has upgrade(), try_upgrade() and downgrade()
//   any_thread_unlocks  another thread may release a read hold
//   survives_fork       a child process may keep using the holds of the thread that forked
#pragma once

#include "catalogue.hpp"
#include "holds.hpp"
#include "lifetimes.hpp"
#include "traffic.hpp"
#include "upgrades.hpp"
#include "waiting.hpp"

namespace torture {

template <class Lock>
void add_scenarios(catalogue& all, std::string_view lock) {
  const auto add = [&](std::string_view name, std::string_view description, unsigned threads,
                       void (*run)(session&)) {
    all.push_back({lock, name, description, threads, run});
  };
  add("mixed-2", "half of the operations write", 4, mixed<Lock, 2>);
  add("mixed-50", "one operation in 50 writes", 4, mixed<Lock, 50>);
  add("mixed-1000", "one operation in 1000 writes", 4, mixed<Lock, 1000>);
  add("bursts", "milliseconds of reads, then a burst of writes", 3, bursts<Lock>);
  add("hot-readers-one-writer", "readers that never rest against one writer", 3,
      hot_readers_one_writer<Lock>);
  add("delayed-stores", "readers whose stores become visible late", 2, delayed_stores<Lock>);
  add("sleeping-readers", "readers that sleep inside their section", 4, sleeping_readers<Lock>);
  add("writers", "a queue of writers and a few readers", 8, writers<Lock>);
  add("parked", "everybody parks, everybody must be woken", 8, parked<Lock>);
  add("try", "try_lock and try_lock_shared among plain locks", 4, tries<Lock>);
  add("thread-churn", "threads are born and die at a high rate", 5, thread_churn<Lock>);
  add("orphaned-holds", "threads that die holding a lock", 2, orphaned_holds<Lock>);
  add("nested", "1 to 12 locks at once, released in any order", 4, nested<Lock>);
  add("many-locks", "1 to 10,000 locks", 4, many_locks<Lock>);
  add("create-destroy", "locks that are destroyed as soon as they are free", 3,
      create_destroy<Lock>);
  add("signals", "signal handlers that read-lock", 3, signals<Lock>);
  add("oversubscribed", "more threads than processors, yielding inside", 16, oversubscribed<Lock>);
  add("preempted", "all threads on one processor", 6, preempted<Lock>);
  add("idle-threads", "threads that read once and then sleep", 64, idle_threads<Lock>);
  add("cold-readers", "readers that sleep between reads", 6, cold_readers<Lock>);
  add("late-bursts", "long idleness, then many reads at once", 5, late_bursts<Lock>);
  add("longest-wait", "how long readers and writers wait in dense traffic", 8, longest_wait<Lock>);
  if constexpr (Lock::upgrades)
    add("upgrade", "reads that become writes and writes that become reads", 4, upgrades<Lock>);
  if constexpr (Lock::recursive_reads)
    add("recursive", "a lock read several times over while writers wait", 4, recursive<Lock>);
  if constexpr (Lock::prefers_readers)
    add("rendezvous", "readers that wait for one another inside", 4, rendezvous<Lock>);
  if constexpr (Lock::timed)
    add("timed", "deadlines that pass and deadlines that are met", 6, deadlines<Lock>);
  if constexpr (Lock::any_thread_unlocks)
    add("cross-thread-unlock", "a read ended by another thread than began it", 5,
        cross_thread_unlock<Lock>);
  if constexpr (Lock::survives_fork)
    add("fork", "children that go on with the locks they hold", 3, forks<Lock>);
}

}  // namespace torture
