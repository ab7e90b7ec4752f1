// SPDX-License-Identifier: Apache-2.0
//! The lock itself, apart from the versions of `lock_api`.

use crate::preference::{PreferWriter, Preference};
use readmost_sys as c;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A raw reader-writer lock for `lock_api`, which the aliases in the root of the crate complete:
/// [`RwLock`](crate::RwLock) and its kin. It implements `lock_api`'s
///
/// | Trait | |
/// |---|---|
/// | `RawRwLock` | guards stay in their thread: `GuardNoSend` |
/// | `RawRwLockTimed` | |
/// | `RawRwLockDowngrade` | |
/// | `RawRwLockUpgrade`, `RawRwLockUpgradeTimed`, `RawRwLockUpgradeDowngrade` | |
/// | `RawRwLockRecursive`, `RawRwLockRecursiveTimed` (lock_api 0.4) | for [`PreferReader`](crate::PreferReader) alone: the trait promises that a read lock passes waiting writers whichever thread holds the lock. The other preferences let a thread pass that holds the lock itself, by `read()`. |
/// | `RawRwLockFair`, `RawRwLockUpgradeFair` | not: a writer that still spins can be overtaken under each preference |
///
/// # Memory
///
/// 8 bytes, and 64 on the heap from the first use on. The library knows a lock that is held by its
/// address, also when the thread that holds it exits. But Rust may move a lock whose guard was
/// forgotten, or end its memory, so the part with an address of its own is on the heap. It is freed
/// with the lock, unless forgotten guards still hold it.
///
/// # Threads and processes
///
/// `Send` and `Sync`, since it has but a pointer, which is set once, to a lock that the library lets
/// any number of threads use at once; which data it guards is for `lock_api::RwLock` to judge.
///
/// A guard cannot leave its thread. When a thread exits with a guard that was forgotten, the lock
/// stays held, as a guard forgotten elsewhere has it. After `fork` the child's copy holds what the
/// guards of all of the parent's threads held.
pub struct RawRwLock<P: Preference = PreferWriter> {
    // Null before the first use.
    made: AtomicPtr<Made>,
    preference: PhantomData<fn() -> P>,
}

/// On a cache line of its own: readers of a lock that is not biased write here, and those of a
/// biased one must not suffer from neighbours.
#[repr(align(64))]
struct Made {
    lock: c::readmost_rwlock_t,
    // Held for writing by the thread that holds the lock upgradably, or tries to. Nobody waits for
    // the lock while holding it.
    upgradable: c::readmost_rwlock_t,
}

/// How long an operation waits.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    Never,
    Until(libc::timespec),
    Forever,
}

impl Wait {
    pub(crate) fn no_longer_than(timeout: Duration) -> Self {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a timespec. The clock exists on every Linux.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        debug_assert_eq!(result, 0);
        // Far beyond the life of a machine, so that no sum overflows.
        const NEVER: u64 = 1 << 40;
        if timeout.as_secs() >= NEVER {
            return Self::Forever;
        }
        let nanoseconds = now.tv_nsec + libc::c_long::from(timeout.subsec_nanos() as i32);
        Self::Until(libc::timespec {
            tv_sec: now.tv_sec + timeout.as_secs() as libc::time_t + nanoseconds / 1_000_000_000,
            tv_nsec: nanoseconds % 1_000_000_000,
        })
    }

    pub(crate) fn until(end: Instant) -> Self {
        // The clock is read after the difference is taken: never too early.
        Self::no_longer_than(end.saturating_duration_since(Instant::now()))
    }
}

/// An upgrade by a thread that holds the lock more than once.
#[derive(Debug)]
pub(crate) struct WouldWaitForItself;

impl WouldWaitForItself {
    #[cold]
    pub(crate) fn panic(self) -> ! {
        panic!("an upgrade of a lock that this thread holds more than once would wait for itself: drop the other guard first")
    }
}

impl<P: Preference> RawRwLock<P> {
    /// Makes a free lock.
    #[inline]
    pub const fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()), preference: PhantomData }
    }

    #[inline]
    fn made(&self) -> &Made {
        // Acquire pairs with the release in make(): the lock is initialised.
        let made = self.made.load(Ordering::Acquire);
        if made.is_null() {
            return self.make();
        }
        // SAFETY: once set, the pointer stays until `self` is dropped, and Made has no state that
        // Rust reads or writes.
        unsafe { &*made }
    }

    #[cold]
    fn make(&self) -> &Made {
        let fresh = Box::into_raw(Box::new(Made {
            lock: P::FREE,
            upgradable: c::READMOST_RWLOCK_INITIALIZER,
        }));
        // Release pairs with the acquire in made(); acquire as there.
        let found =
            self.made.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
        match found {
            // SAFETY: as in made().
            Ok(_) => unsafe { &*fresh },
            Err(other) => {
                // SAFETY: `fresh` is from a box and no other thread has seen it. `other` as in
                // made().
                unsafe {
                    drop(Box::from_raw(fresh));
                    &*other
                }
            }
        }
    }

    // --- shared ----------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn lock_shared(&self) {
        let lock = self.made().lock();
        // SAFETY: the lock is initialised and keeps its address.
        while unsafe { c::readmost_rwlock_rdlock(lock) } != 0 {
            // As many holds as it can count; some will go.
            thread::yield_now();
        }
    }

    #[inline]
    pub(crate) fn try_lock_shared(&self) -> bool {
        // SAFETY: as in lock_shared().
        unsafe { c::readmost_rwlock_tryrdlock(self.made().lock()) == 0 }
    }

    pub(crate) fn lock_shared_by(&self, wait: Wait) -> bool {
        let until = match wait {
            Wait::Never => return self.try_lock_shared(),
            Wait::Until(until) => until,
            Wait::Forever => {
                self.lock_shared();
                return true;
            }
        };
        let lock = self.made().lock();
        loop {
            // SAFETY: as in lock_shared(); the pointer is to a timespec.
            match unsafe { c::readmost_rwlock_clockrdlock(lock, libc::CLOCK_MONOTONIC, &until) } {
                0 => return true,
                libc::EAGAIN => thread::yield_now(),
                _ => return false,
            }
        }
    }

    /// # Safety
    /// The calling thread holds the lock shared.
    #[inline]
    pub(crate) unsafe fn unlock_shared(&self) {
        // SAFETY: the caller holds the lock, so it is made and stays.
        let result = unsafe { c::readmost_rwlock_rdunlock(self.made().lock()) };
        debug_assert_eq!(result, 0, "the lock is not held for reading");
    }

    // --- exclusive -------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn lock_exclusive(&self) {
        // SAFETY: as in lock_shared().
        let result = unsafe { c::readmost_rwlock_wrlock(self.made().lock()) };
        debug_assert_eq!(result, 0);
    }

    #[inline]
    pub(crate) fn try_lock_exclusive(&self) -> bool {
        // SAFETY: as in lock_shared().
        unsafe { c::readmost_rwlock_trywrlock(self.made().lock()) == 0 }
    }

    pub(crate) fn lock_exclusive_by(&self, wait: Wait) -> bool {
        self.made().lock_alone(&self.made().lock, wait)
    }

    /// # Safety
    /// The calling thread holds the lock exclusively.
    #[inline]
    pub(crate) unsafe fn unlock_exclusive(&self) {
        // SAFETY: as in unlock_shared().
        let result = unsafe { c::readmost_rwlock_wrunlock(self.made().lock()) };
        debug_assert_eq!(result, 0, "the lock is not held for writing");
    }

    /// # Safety
    /// The calling thread holds the lock exclusively.
    pub(crate) unsafe fn downgrade(&self) {
        // SAFETY: the caller holds the lock for writing.
        let result = unsafe { c::readmost_rwlock_downgrade(self.made().lock()) };
        debug_assert_eq!(result, 0, "the lock is not held for writing");
    }

    // --- upgradable: shared, and alone among those that may upgrade ------------------------------

    /// Where it does not wait, it fails also while another thread finds out whether it gets the
    /// lock.
    pub(crate) fn lock_upgradable_by(&self, wait: Wait) -> bool {
        let made = self.made();
        loop {
            if !made.lock_alone(&made.upgradable, wait) {
                return false;
            }
            if self.try_lock_shared() {
                return true;
            }
            made.let_upgrade();
            if matches!(wait, Wait::Never) || !self.lock_shared_by(wait) {
                return false;
            }
            if made.lock_alone(&made.upgradable, Wait::Never) {
                return true;
            }
            // SAFETY: it is held shared since the last but one condition.
            unsafe { self.unlock_shared() };
        }
    }

    /// # Safety
    /// The calling thread holds the lock upgradably.
    pub(crate) unsafe fn unlock_upgradable(&self) {
        self.made().let_upgrade();
        // SAFETY: an upgradable hold is a shared one as well.
        unsafe { self.unlock_shared() };
    }

    /// `Ok(false)`: other readers have stayed for as long as the caller would wait.
    ///
    /// # Safety
    /// The calling thread holds the lock upgradably.
    pub(crate) unsafe fn upgrade_by(&self, wait: Wait) -> Result<bool, WouldWaitForItself> {
        let made = self.made();
        let lock = made.lock();
        // SAFETY: the caller holds the lock for reading, and took it itself, as guards stay in their
        // thread; the pointer is to a timespec.
        let result = unsafe {
            match wait {
                Wait::Never => c::readmost_rwlock_tryupgrade(lock),
                Wait::Until(until) => {
                    c::readmost_rwlock_clockupgrade(lock, libc::CLOCK_MONOTONIC, &until)
                }
                Wait::Forever => c::readmost_rwlock_upgrade(lock),
            }
        };
        match result {
            0 => {
                made.let_upgrade();
                Ok(true)
            }
            // No other thread can be upgrading.
            libc::EDEADLK => Err(WouldWaitForItself),
            _ => Ok(false),
        }
    }

    /// # Safety
    /// The calling thread holds the lock upgradably.
    pub(crate) unsafe fn downgrade_upgradable(&self) {
        self.made().let_upgrade();
    }

    /// # Safety
    /// The calling thread holds the lock exclusively.
    pub(crate) unsafe fn downgrade_to_upgradable(&self) {
        let made = self.made();
        // Does not wait for long: with a writer inside nobody has the right to upgrade but threads
        // that are about to find that out.
        made.lock_alone(&made.upgradable, Wait::Forever);
        // SAFETY: the caller holds the lock exclusively.
        unsafe { self.downgrade() };
    }

    // --- state -----------------------------------------------------------------------------------

    pub(crate) fn held(&self) -> libc::c_int {
        let made = self.made.load(Ordering::Acquire);
        if made.is_null() {
            return c::READMOST_NOT_HELD;
        }
        // SAFETY: as in made().
        unsafe { c::readmost_rwlock_held(&(*made).lock) }
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.held() != c::READMOST_NOT_HELD
    }

    pub(crate) fn is_locked_exclusive(&self) -> bool {
        self.held() == c::READMOST_HELD_FOR_WRITING
    }
}

impl Made {
    #[inline]
    fn lock(&self) -> *mut c::readmost_rwlock_t {
        ptr::addr_of!(self.lock).cast_mut()
    }

    /// Write-locks one of the two locks.
    fn lock_alone(&self, which: &c::readmost_rwlock_t, wait: Wait) -> bool {
        let lock = ptr::from_ref(which).cast_mut();
        // SAFETY: the lock is initialised and keeps its address; the pointer is to a timespec.
        let result = unsafe {
            match wait {
                Wait::Never => c::readmost_rwlock_trywrlock(lock),
                Wait::Until(until) => {
                    c::readmost_rwlock_clockwrlock(lock, libc::CLOCK_MONOTONIC, &until)
                }
                Wait::Forever => c::readmost_rwlock_wrlock(lock),
            }
        };
        result == 0
    }

    fn let_upgrade(&self) {
        // SAFETY: the callers hold it.
        let result =
            unsafe { c::readmost_rwlock_wrunlock(ptr::addr_of!(self.upgradable).cast_mut()) };
        debug_assert_eq!(result, 0, "the lock is not held upgradably");
    }
}

impl<P: Preference> Drop for RawRwLock<P> {
    fn drop(&mut self) {
        let made = *self.made.get_mut();
        if made.is_null() {
            return;
        }
        // SAFETY: `made` is from a box in make(), and `self`, which goes, was the only way to it for
        // threads that want the lock. What could still lead to it is a hold, whose guard was
        // forgotten, in the record of a thread, which writes to the lock when it exits. Then the
        // memory is leaked. A thread that exits at this moment moves its hold from its record to the
        // lock; if the call does not see the hold in either place, the thread has done with the
        // lock.
        unsafe {
            let is_free = c::readmost_rwlock_held(&(*made).lock) == c::READMOST_NOT_HELD;
            if is_free {
                c::readmost_rwlock_destroy((*made).lock());
                drop(Box::from_raw(made));
            }
        }
    }
}

impl<P: Preference> Default for RawRwLock<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Preference> fmt::Debug for RawRwLock<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRwLock").field("is_locked", &self.is_locked()).finish_non_exhaustive()
    }
}
