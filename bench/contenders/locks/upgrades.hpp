// SPDX-License-Identifier: Apache-2.0
// Upgrade and downgrade under one interface, for the locks that have them.
#pragma once

namespace bench {

// The members that Readmost's locks have.
template <class Lock>
concept upgrades_itself = requires(Lock& lock) {
  { lock.upgrade() };
  { lock.downgrade() };
};

// As Boost's does: a special read hold, one at a time, can be upgraded.
template <class Lock>
concept has_upgrade_holds = requires(Lock& lock) {
  lock.lock_upgrade();
  lock.unlock_upgrade_and_lock();
  lock.unlock_and_lock_shared();
};

// As TBB's do: through the guard.
template <class Lock>
concept upgrades_in_guard = requires(typename Lock::scoped_lock& guard) {
  guard.upgrade_to_writer();
  guard.downgrade_to_reader();
};

template <class Lock>
concept upgradable = upgrades_itself<Lock> || has_upgrade_holds<Lock> || upgrades_in_guard<Lock>;

// Locks for reading, upgrades, calls section(), unlocks.
template <upgradable Lock, class Section>
void read_then_write(Lock& lock, Section section) {
  if constexpr (upgrades_itself<Lock>) {
    lock.lock_shared();
    // upgrade() fails if another thread upgrades and waits for this one to leave.
    while (!lock.upgrade()) {
      lock.unlock_shared();
      lock.lock_shared();
    }
    section();
    lock.unlock();
  } else if constexpr (has_upgrade_holds<Lock>) {
    lock.lock_upgrade();
    lock.unlock_upgrade_and_lock();
    section();
    lock.unlock();
  } else {
    typename Lock::scoped_lock guard(lock, false);
    guard.upgrade_to_writer();
    section();
  }
}

// Locks for writing, calls section(), downgrades, unlocks.
template <upgradable Lock, class Section>
void write_then_read(Lock& lock, Section section) {
  if constexpr (upgrades_itself<Lock>) {
    lock.lock();
    section();
    lock.downgrade();
    lock.unlock_shared();
  } else if constexpr (has_upgrade_holds<Lock>) {
    lock.lock();
    section();
    lock.unlock_and_lock_shared();
    lock.unlock_shared();
  } else {
    typename Lock::scoped_lock guard(lock, true);
    section();
    guard.downgrade_to_reader();
  }
}

}  // namespace bench
