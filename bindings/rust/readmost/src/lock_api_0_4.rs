// SPDX-License-Identifier: Apache-2.0
//! Locks of lock_api 0.4, with guards, `map`, `Arc` guards (feature `arc_lock`) and all else that
//! `lock_api` builds over a raw lock.

use crate::preference::{PhaseFair, PreferReader, PreferWriter, Preference};
use crate::raw::{RawRwLock, Wait};
use ::lock_api_0_4 as lock_api;
use std::time::{Duration, Instant};

// SAFETY: the library lets a writer in alone, or readers together. Its read lock and write lock are
// acquires and its unlocks releases.
unsafe impl<P: Preference> lock_api::RawRwLock for RawRwLock<P> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::new();

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        self.lock_shared();
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.try_lock_shared()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.unlock_shared() };
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.lock_exclusive();
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.try_lock_exclusive()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.unlock_exclusive() };
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.is_locked_exclusive()
    }
}

// SAFETY: as above; the deadline changes nothing but how long an attempt lasts.
unsafe impl<P: Preference> lock_api::RawRwLockTimed for RawRwLock<P> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.try_lock_shared() || self.lock_shared_by(Wait::no_longer_than(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        self.try_lock_shared() || self.lock_shared_by(Wait::until(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.lock_exclusive_by(Wait::no_longer_than(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        self.lock_exclusive_by(Wait::until(timeout))
    }
}

// SAFETY: the library's downgrade lets no writer in between.
unsafe impl<P: Preference> lock_api::RawRwLockDowngrade for RawRwLock<P> {
    unsafe fn downgrade(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade() };
    }
}

// SAFETY: under this preference a reader waits for the writer inside alone, and there is none while
// any thread reads.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock<PreferReader> {
    #[inline]
    fn lock_shared_recursive(&self) {
        self.lock_shared();
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        self.try_lock_shared()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock<PreferReader> {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.lock_shared_by(Wait::no_longer_than(timeout))
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        self.lock_shared_by(Wait::until(timeout))
    }
}

// SAFETY: an upgradable hold is a read hold of the library's lock by the one thread that has the
// right to upgrade; its upgrade lets no writer in between and waits for the other readers.
unsafe impl<P: Preference> lock_api::RawRwLockUpgrade for RawRwLock<P> {
    fn lock_upgradable(&self) {
        self.lock_upgradable_by(Wait::Forever);
    }

    fn try_lock_upgradable(&self) -> bool {
        self.lock_upgradable_by(Wait::Never)
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.unlock_upgradable() };
    }

    unsafe fn upgrade(&self) {
        // SAFETY: as the trait requires.
        let result = unsafe { self.upgrade_by(Wait::Forever) };
        result.unwrap_or_else(|error| error.panic());
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: as the trait requires.
        unsafe { self.upgrade_by(Wait::Never) }.unwrap_or(false)
    }
}

// SAFETY: as above.
unsafe impl<P: Preference> lock_api::RawRwLockUpgradeTimed for RawRwLock<P> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.lock_upgradable_by(Wait::no_longer_than(timeout))
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
        self.lock_upgradable_by(Wait::until(timeout))
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: as the trait requires.
        let result = unsafe { self.upgrade_by(Wait::no_longer_than(timeout)) };
        result.unwrap_or_else(|error| error.panic())
    }

    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: as the trait requires.
        let result = unsafe { self.upgrade_by(Wait::until(timeout)) };
        result.unwrap_or_else(|error| error.panic())
    }
}

// SAFETY: neither lets go of the read hold.
unsafe impl<P: Preference> lock_api::RawRwLockUpgradeDowngrade for RawRwLock<P> {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade_upgradable() };
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade_to_upgradable() };
    }
}

include!("lock_types.rs");
