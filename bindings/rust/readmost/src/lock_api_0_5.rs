// SPDX-License-Identifier: Apache-2.0
//! The locks of the crate's root over lock_api 0.5, whose traits pass each hold's state from hand to
//! hand: an empty one here, which keeps guards in their thread. lock_api 0.5 has no recursive read
//! locks; a thread may `read()` what it reads.

use crate::preference::{PhaseFair, PreferReader, PreferWriter, Preference};
use crate::raw::{RawRwLock, Wait, WouldWaitForItself};
use ::lock_api_0_5 as lock_api;
use lock_api::GuardNoSend;
use std::time::{Duration, Instant};

const fn held_if(acquired: bool) -> Option<GuardNoSend> {
    if acquired {
        Some(GuardNoSend::new())
    } else {
        None
    }
}

/// The result of an attempt to upgrade a hold whose state was `guard`.
///
/// # Safety
/// The calling thread holds the lock upgradably, unless the attempt was successful.
unsafe fn upgraded<P: Preference>(
    lock: &RawRwLock<P>,
    guard: GuardNoSend,
    attempt: Result<bool, WouldWaitForItself>,
) -> Result<GuardNoSend, GuardNoSend> {
    match attempt {
        Ok(true) => Ok(guard),
        Ok(false) => Err(guard),
        Err(error) => {
            // SAFETY: as the caller says. The trait wants the hold released before a panic.
            unsafe { lock.unlock_upgradable() };
            error.panic()
        }
    }
}

// SAFETY: the library lets a writer in alone, or readers together. Its read lock and write lock are
// acquires and its unlocks releases. A lock may be moved and dropped while it is held, by guards
// that were forgotten: see RawRwLock.
unsafe impl<P: Preference> lock_api::RawRwLock for RawRwLock<P> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::new();

    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    #[inline]
    fn lock_shared(&self) -> GuardNoSend {
        self.lock_shared();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        held_if(self.try_lock_shared())
    }

    #[inline]
    unsafe fn unlock_shared(&self, _: GuardNoSend) {
        // SAFETY: as the trait requires.
        unsafe { self.unlock_shared() };
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardNoSend {
        self.lock_exclusive();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
        held_if(self.try_lock_exclusive())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _: GuardNoSend) {
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

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        held_if(self.try_lock_shared() || self.lock_shared_by(Wait::no_longer_than(timeout)))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        held_if(self.try_lock_shared() || self.lock_shared_by(Wait::until(timeout)))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        held_if(self.lock_exclusive_by(Wait::no_longer_than(timeout)))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        held_if(self.lock_exclusive_by(Wait::until(timeout)))
    }
}

// SAFETY: the library's downgrade lets no writer in between, and releases.
unsafe impl<P: Preference> lock_api::RawRwLockDowngrade for RawRwLock<P> {
    unsafe fn downgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade() };
        guard
    }
}

// SAFETY: an upgradable hold is a read hold of the library's lock by the one thread that has the
// right to upgrade; its upgrade lets no writer in between, waits for the other readers and acquires
// from them.
unsafe impl<P: Preference> lock_api::RawRwLockUpgrade for RawRwLock<P> {
    type UpgradableGuard = GuardNoSend;

    fn lock_upgradable(&self) -> GuardNoSend {
        self.lock_upgradable_by(Wait::Forever);
        GuardNoSend::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        held_if(self.lock_upgradable_by(Wait::Never))
    }

    unsafe fn unlock_upgradable(&self, _: GuardNoSend) {
        // SAFETY: as the trait requires.
        unsafe { self.unlock_upgradable() };
    }

    unsafe fn upgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: as the trait requires.
        let result = unsafe { upgraded(self, guard, self.upgrade_by(Wait::Forever)) };
        result.unwrap_or_else(|_| unreachable!("an upgrade without a deadline has ended early"))
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: as the trait requires.
        match unsafe { self.upgrade_by(Wait::Never) } {
            Ok(true) => Ok(guard),
            _ => Err(guard),
        }
    }
}

// SAFETY: as above.
unsafe impl<P: Preference> lock_api::RawRwLockUpgradeTimed for RawRwLock<P> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        held_if(self.lock_upgradable_by(Wait::no_longer_than(timeout)))
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        held_if(self.lock_upgradable_by(Wait::until(timeout)))
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: as the trait requires.
        unsafe { upgraded(self, guard, self.upgrade_by(Wait::no_longer_than(timeout))) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: GuardNoSend,
        timeout: Instant,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: as the trait requires.
        unsafe { upgraded(self, guard, self.upgrade_by(Wait::until(timeout))) }
    }
}

// SAFETY: neither lets go of the read hold, and the second releases to later acquisitions.
unsafe impl<P: Preference> lock_api::RawRwLockUpgradeDowngrade for RawRwLock<P> {
    unsafe fn downgrade_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade_upgradable() };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: as the trait requires.
        unsafe { self.downgrade_to_upgradable() };
        guard
    }
}

include!("lock_types.rs");
