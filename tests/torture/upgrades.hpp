// SPDX-License-Identifier: Apache-2.0
// A scenario that upgrades reads to writes and downgrades writes to reads.
#pragma once

#include "sections.hpp"

namespace torture {

// The caller holds the lock exclusively; writes, then either keeps a read hold and reads the
// result, or unlocks.
template <class Lock>
void write_and_release(worker& me, cell<Lock>& guarded) {
  change(me, guarded.data);
  const std::uint64_t written = guarded.data.changes();
  if (me.random.one_in(2)) {
    guarded.lock.unlock();
    me.done_writing();
    return;
  }
  guarded.lock.downgrade();
  guarded.data.examine(me, [&me] { loiter(me); });
  if (guarded.data.changes() != written) {
    me.violation("somebody wrote between a downgrade and the read that followed");
  }
  guarded.lock.unlock_shared();
  me.done_writing();
}

template <class Lock>
bool upgrade_somehow(worker& me, Lock& lock) {
  if (me.random.one_in(3)) return lock.try_upgrade();
  if constexpr (Lock::timed) {
    if (me.random.one_in(2))
      return lock.try_upgrade_for(std::chrono::microseconds(me.random.below(300)));
  }
  return lock.upgrade();
}

// Reads, and writes a result that depends on it, while no other writer may come in between.
template <class Lock>
void read_then_write(worker& me, cell<Lock>& guarded) {
  me.about_to_read();
  guarded.lock.lock_shared();
  me.reading();
  guarded.data.examine(me, [&me] { loiter(me); });
  const std::uint64_t read_before = guarded.data.changes();
  me.about_to_write();
  if (!upgrade_somehow(me, guarded.lock)) {
    guarded.data.examine(me, [] {});
    if (guarded.data.changes() != read_before) {
      me.violation("somebody wrote although the reader whose upgrade failed was still inside");
    }
    guarded.lock.unlock_shared();
    me.done_trying();
    return;
  }
  me.writing();
  if (guarded.data.changes() != read_before) {
    me.violation("somebody wrote between a read and its upgrade");
  }
  write_and_release(me, guarded);
}

// Some threads stay inside long enough for upgrades and writers to queue and to sleep.
template <class Lock>
void upgrades(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads(), [&](worker& me) {
    const bool quiet = run.read_only();
    if (!quiet && me.random.one_in(8)) {
      read_then_write(me, guarded);
    } else if (!quiet && me.random.one_in(16)) {
      me.about_to_write();
      guarded.lock.lock();
      me.writing();
      write_and_release(me, guarded);
    } else {
      read(me, guarded, [&] {
        if (!quiet && me.random.one_in(64)) sleep_microseconds(me.random.below(100));
      });
    }
  });
  run.join();
}

}  // namespace torture
