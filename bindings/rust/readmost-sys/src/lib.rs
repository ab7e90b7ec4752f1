// SPDX-License-Identifier: Apache-2.0
//! The C API of Readmost: `readmost.h` (reader-writer locks), `readmost_rcu.h` (read-copy update) and
//! `readmost_hazard_pointer.h`, written by hand. The headers are the reference: what each function requires, promises
//! and costs stands there. The crate `readmost` has safe types.
//!
//! The lists that `readmost_rcu.h` defines by inline functions are no part of the library and are
//! not bound.
#![no_std]
#![allow(non_camel_case_types)]
#![warn(missing_debug_implementations)]

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_uint, c_void};
pub use libc::{clockid_t, timespec};

// --- readmost.h: types ---------------------------------------------------------------------------

/// A lock: 16 bytes. Free when all bytes are zero. Once used it must not be copied or moved, and its
/// memory must not be put to another use while a thread holds it.
#[repr(C)]
#[derive(Debug)]
pub struct readmost_rwlock_t {
    state: UnsafeCell<u64>,
    rest: UnsafeCell<[u8; 8]>,
}

// SAFETY: the functions of the library, the only ones that access the members, may be called by any
// number of threads at once.
unsafe impl Sync for readmost_rwlock_t {}

impl readmost_rwlock_t {
    const fn with_traits(traits: u8) -> Self {
        let rest = [0, 0, 0, 0, 0, traits, 0, 0];
        Self { state: UnsafeCell::new(0), rest: UnsafeCell::new(rest) }
    }
}

/// A free lock that prefers writers.
#[allow(clippy::declare_interior_mutable_const)]
pub const READMOST_RWLOCK_INITIALIZER: readmost_rwlock_t = readmost_rwlock_t::with_traits(0);
/// A free lock that prefers readers.
#[allow(clippy::declare_interior_mutable_const)]
pub const READMOST_RWLOCK_INITIALIZER_READER: readmost_rwlock_t = readmost_rwlock_t::with_traits(8);
/// A free lock that prefers neither.
#[allow(clippy::declare_interior_mutable_const)]
pub const READMOST_RWLOCK_INITIALIZER_PHASE_FAIR: readmost_rwlock_t =
    readmost_rwlock_t::with_traits(16);

pub const READMOST_PREFER_WRITER: c_int = 0;
pub const READMOST_PREFER_READER: c_int = 1;
pub const READMOST_PREFER_PHASE_FAIR: c_int = 2;

pub const READMOST_NOT_HELD: c_int = 0;
pub const READMOST_HELD_FOR_READING: c_int = 1;
pub const READMOST_HELD_FOR_WRITING: c_int = 2;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            nothing: [u8; 0],
            not_send_sync_unpin: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// A domain of locks.
    readmost_domain_t
    /// A domain of RCU; null is the process's.
    readmost_rcu_domain_t
    /// A hash table.
    readmost_rcu_table_t
    /// A table by id.
    readmost_id_table_t
}

/// The attributes of a new lock.
#[repr(C)]
#[derive(Debug)]
pub struct readmost_rwlockattr_t {
    domain: *mut readmost_domain_t,
    preference: c_int,
    reserved: c_int,
}

impl readmost_rwlockattr_t {
    /// What `readmost_rwlockattr_init` makes.
    pub const fn new() -> Self {
        let domain = core::ptr::null_mut();
        Self { domain, preference: READMOST_PREFER_WRITER, reserved: 0 }
    }
}

impl Default for readmost_rwlockattr_t {
    fn default() -> Self {
        Self::new()
    }
}

// --- readmost_rcu.h: types -----------------------------------------------------------------------

/// A member of objects that are passed to `readmost_rcu_call`. Needs no initialization.
#[repr(C)]
#[derive(Debug)]
pub struct readmost_rcu_head {
    next: *mut readmost_rcu_head,
    how: *mut c_void,
}

impl readmost_rcu_head {
    pub const fn new() -> Self {
        Self { next: core::ptr::null_mut(), how: core::ptr::null_mut() }
    }
}

impl Default for readmost_rcu_head {
    fn default() -> Self {
        Self::new()
    }
}

/// A member of objects that are put into a hash table. Needs no initialization.
#[repr(C)]
#[derive(Debug, Default)]
pub struct readmost_rcu_table_head {
    private: [u64; 6],
}

/// A member of objects that are put into a table by id. Needs no initialization.
#[repr(C)]
#[derive(Debug, Default)]
pub struct readmost_id_head {
    private: [u64; 7],
}

/// A point in time, relative to the grace periods of one domain.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readmost_rcu_ticket_t {
    grace_period: u64,
}

/// Counts since the process began.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct readmost_rcu_statistics_t {
    pub grace_periods: u64,
    pub by_membarrier: u64,
    pub asleep: u64,
    pub retired: u64,
    pub reclaimed: u64,
    pub waiting: u64,
    pub waiting_bytes: u64,
    pub waits_for: i64,
    pub waits_since: u64,
    reserved: [u64; 7],
}

pub type readmost_rcu_function_t = unsafe extern "C" fn(head: *mut readmost_rcu_head);
pub type readmost_rcu_table_equal_t =
    unsafe extern "C" fn(head: *const readmost_rcu_table_head, key: *const c_void) -> c_int;
pub type readmost_rcu_table_function_t = unsafe extern "C" fn(head: *mut readmost_rcu_table_head);
pub type readmost_rcu_table_visit_t =
    unsafe extern "C" fn(head: *mut readmost_rcu_table_head, argument: *mut c_void);
pub type readmost_rcu_table_choose_t =
    unsafe extern "C" fn(head: *const readmost_rcu_table_head, argument: *mut c_void) -> c_int;
pub type readmost_id_function_t = unsafe extern "C" fn(head: *mut readmost_id_head);
pub type readmost_id_visit_t =
    unsafe extern "C" fn(head: *mut readmost_id_head, id: u64, argument: *mut c_void);

pub const READMOST_RCU_PACE: c_int = 0;
pub const READMOST_RCU_BLOCK: c_int = 1;
pub const READMOST_RCU_WARN: c_int = 2;

pub const READMOST_RCU_IN_BACKGROUND: c_int = 0;
pub const READMOST_RCU_IN_PLACE: c_int = 1;
pub const READMOST_RCU_ON_REQUEST: c_int = 2;

// --- readmost_hazard_pointer.h: types ------------------------------------------------------------

/// A hazard pointer. Empty if all bytes are zero.
#[repr(C)]
#[derive(Debug)]
pub struct readmost_hazard_pointer_t {
    slot: *mut c_void,
}

impl readmost_hazard_pointer_t {
    /// An empty one.
    pub const fn new() -> Self {
        Self { slot: core::ptr::null_mut() }
    }
}

impl Default for readmost_hazard_pointer_t {
    fn default() -> Self {
        Self::new()
    }
}

/// A member of objects that hazard pointers protect, to which the pointers point. Needs no
/// initialization.
#[repr(C)]
#[derive(Debug)]
pub struct readmost_hazard_head {
    next: *mut readmost_hazard_head,
    how: *const c_void,
    function: Option<readmost_hazard_function_t>,
    bytes: usize,
}

impl readmost_hazard_head {
    pub const fn new() -> Self {
        let (next, how) = (core::ptr::null_mut(), core::ptr::null());
        Self { next, how, function: None, bytes: 0 }
    }
}

impl Default for readmost_hazard_head {
    fn default() -> Self {
        Self::new()
    }
}

pub type readmost_hazard_function_t = unsafe extern "C" fn(head: *mut readmost_hazard_head);

// --- Functions -----------------------------------------------------------------------------------

// tests/c_header.rs reads these declarations: one function each, as rustfmt lays them out.
extern "C" {
    // readmost.h
    pub fn readmost_rwlockattr_init(attr: *mut readmost_rwlockattr_t) -> c_int;
    pub fn readmost_rwlockattr_destroy(attr: *mut readmost_rwlockattr_t) -> c_int;
    pub fn readmost_rwlockattr_setpreference(
        attr: *mut readmost_rwlockattr_t,
        preference: c_int,
    ) -> c_int;
    pub fn readmost_rwlockattr_getpreference(
        attr: *const readmost_rwlockattr_t,
        preference: *mut c_int,
    ) -> c_int;
    pub fn readmost_rwlockattr_setdomain(
        attr: *mut readmost_rwlockattr_t,
        domain: *mut readmost_domain_t,
    ) -> c_int;
    pub fn readmost_rwlockattr_getdomain(
        attr: *const readmost_rwlockattr_t,
        domain: *mut *mut readmost_domain_t,
    ) -> c_int;
    pub fn readmost_rwlock_init(
        lock: *mut readmost_rwlock_t,
        attr: *const readmost_rwlockattr_t,
    ) -> c_int;
    pub fn readmost_rwlock_destroy(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_rdlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_tryrdlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_timedrdlock(
        lock: *mut readmost_rwlock_t,
        until: *const timespec,
    ) -> c_int;
    pub fn readmost_rwlock_clockrdlock(
        lock: *mut readmost_rwlock_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    pub fn readmost_rwlock_rdunlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_wrlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_trywrlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_timedwrlock(
        lock: *mut readmost_rwlock_t,
        until: *const timespec,
    ) -> c_int;
    pub fn readmost_rwlock_clockwrlock(
        lock: *mut readmost_rwlock_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    pub fn readmost_rwlock_wrunlock(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_upgrade(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_tryupgrade(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_clockupgrade(
        lock: *mut readmost_rwlock_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    pub fn readmost_rwlock_downgrade(lock: *mut readmost_rwlock_t) -> c_int;
    pub fn readmost_rwlock_held(lock: *const readmost_rwlock_t) -> c_int;
    pub fn readmost_online();
    pub fn readmost_offline();
    pub fn readmost_domain_create(domain: *mut *mut readmost_domain_t) -> c_int;
    pub fn readmost_domain_destroy(domain: *mut readmost_domain_t) -> c_int;
    pub fn readmost_domain_online(domain: *mut readmost_domain_t);
    pub fn readmost_domain_offline(domain: *mut readmost_domain_t);
    pub fn readmost_version() -> *const c_char;
    // readmost_rcu.h
    pub fn readmost_rcu_read_lock(domain: *mut readmost_rcu_domain_t);
    pub fn readmost_rcu_read_unlock(domain: *mut readmost_rcu_domain_t);
    pub fn readmost_rcu_read_ongoing(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_synchronize(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_synchronize_expedited(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_start_poll(domain: *mut readmost_rcu_domain_t) -> readmost_rcu_ticket_t;
    pub fn readmost_rcu_poll(
        domain: *mut readmost_rcu_domain_t,
        ticket: readmost_rcu_ticket_t,
    ) -> c_int;
    pub fn readmost_rcu_cond_synchronize(
        domain: *mut readmost_rcu_domain_t,
        ticket: readmost_rcu_ticket_t,
    ) -> c_int;
    pub fn readmost_rcu_call(
        domain: *mut readmost_rcu_domain_t,
        head: *mut readmost_rcu_head,
        function: Option<readmost_rcu_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_rcu_try_call(
        domain: *mut readmost_rcu_domain_t,
        head: *mut readmost_rcu_head,
        function: Option<readmost_rcu_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_rcu_barrier(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_hurry(domain: *mut readmost_rcu_domain_t);
    pub fn readmost_rcu_limit_laziness(domain: *mut readmost_rcu_domain_t, microseconds: u64);
    pub fn readmost_rcu_limit_reclaimers(domain: *mut readmost_rcu_domain_t, most: c_uint);
    pub fn readmost_rcu_limit_backlog(domain: *mut readmost_rcu_domain_t, objects: u64, bytes: u64);
    pub fn readmost_rcu_backlog_policy(domain: *mut readmost_rcu_domain_t, policy: c_int) -> c_int;
    pub fn readmost_rcu_warn_of_stalls_after(milliseconds: u64);
    pub fn readmost_rcu_reclaim_by(domain: *mut readmost_rcu_domain_t, who: c_int) -> c_int;
    pub fn readmost_rcu_reclaim(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_domain_create(domain: *mut *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_domain_destroy(domain: *mut readmost_rcu_domain_t) -> c_int;
    pub fn readmost_rcu_table_create(
        table: *mut *mut readmost_rcu_table_t,
        domain: *mut readmost_rcu_domain_t,
        equal: Option<readmost_rcu_table_equal_t>,
        buckets: u64,
    ) -> c_int;
    pub fn readmost_rcu_table_destroy(table: *mut readmost_rcu_table_t);
    pub fn readmost_rcu_table_find(
        table: *const readmost_rcu_table_t,
        hash: u64,
        key: *const c_void,
    ) -> *mut readmost_rcu_table_head;
    pub fn readmost_rcu_table_insert(
        table: *mut readmost_rcu_table_t,
        head: *mut readmost_rcu_table_head,
        hash: u64,
        key: *const c_void,
        function: Option<readmost_rcu_table_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_rcu_table_put(
        table: *mut readmost_rcu_table_t,
        head: *mut readmost_rcu_table_head,
        hash: u64,
        key: *const c_void,
        function: Option<readmost_rcu_table_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_rcu_table_replace(
        table: *mut readmost_rcu_table_t,
        old: *mut readmost_rcu_table_head,
        fresh: *mut readmost_rcu_table_head,
        function: Option<readmost_rcu_table_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_rcu_table_erase(
        table: *mut readmost_rcu_table_t,
        hash: u64,
        key: *const c_void,
    ) -> c_int;
    pub fn readmost_rcu_table_erase_object(
        table: *mut readmost_rcu_table_t,
        head: *mut readmost_rcu_table_head,
    ) -> c_int;
    pub fn readmost_rcu_table_erase_if(
        table: *mut readmost_rcu_table_t,
        choose: Option<readmost_rcu_table_choose_t>,
        argument: *mut c_void,
    ) -> u64;
    pub fn readmost_rcu_table_for_each(
        table: *const readmost_rcu_table_t,
        visit: Option<readmost_rcu_table_visit_t>,
        argument: *mut c_void,
    );
    pub fn readmost_rcu_table_size(table: *const readmost_rcu_table_t) -> u64;
    pub fn readmost_rcu_table_buckets(table: *const readmost_rcu_table_t) -> u64;
    pub fn readmost_rcu_table_reserve(table: *mut readmost_rcu_table_t, objects: u64) -> c_int;
    pub fn readmost_id_table_create(
        table: *mut *mut readmost_id_table_t,
        domain: *mut readmost_rcu_domain_t,
        most: u64,
    ) -> c_int;
    pub fn readmost_id_table_destroy(table: *mut readmost_id_table_t);
    pub fn readmost_id_table_insert(
        table: *mut readmost_id_table_t,
        head: *mut readmost_id_head,
        function: Option<readmost_id_function_t>,
        bytes: usize,
        id: *mut u64,
    ) -> c_int;
    pub fn readmost_id_table_find(
        table: *mut readmost_id_table_t,
        id: u64,
    ) -> *mut readmost_id_head;
    pub fn readmost_id_table_lock(
        table: *mut readmost_id_table_t,
        id: u64,
        head: *mut *mut readmost_id_head,
    ) -> c_int;
    pub fn readmost_id_table_trylock(
        table: *mut readmost_id_table_t,
        id: u64,
        head: *mut *mut readmost_id_head,
    ) -> c_int;
    pub fn readmost_id_table_unlock(head: *mut readmost_id_head);
    pub fn readmost_id_table_erase(table: *mut readmost_id_table_t, id: u64) -> c_int;
    pub fn readmost_id_table_erase_locked(
        table: *mut readmost_id_table_t,
        head: *mut readmost_id_head,
    );
    pub fn readmost_id_table_id(head: *const readmost_id_head) -> u64;
    pub fn readmost_id_table_for_each(
        table: *mut readmost_id_table_t,
        visit: Option<readmost_id_visit_t>,
        argument: *mut c_void,
    );
    pub fn readmost_id_table_size(table: *const readmost_id_table_t) -> u64;
    pub fn readmost_id_table_reserve(table: *mut readmost_id_table_t, objects: u64) -> c_int;
    pub fn readmost_id_table_shrink(table: *mut readmost_id_table_t) -> c_int;
    pub fn readmost_rcu_statistics(
        domain: *mut readmost_rcu_domain_t,
        figures: *mut readmost_rcu_statistics_t,
    );
    // readmost_hazard_pointer.h
    pub fn readmost_hazard_pointer_create(hazard: *mut readmost_hazard_pointer_t) -> c_int;
    pub fn readmost_hazard_pointer_destroy(hazard: *mut readmost_hazard_pointer_t);
    pub fn readmost_hazard_pointer_protect(
        hazard: *mut readmost_hazard_pointer_t,
        pointer: *const c_void,
    ) -> *mut c_void;
    pub fn readmost_hazard_pointer_try_protect(
        hazard: *mut readmost_hazard_pointer_t,
        expected: *mut c_void,
        pointer: *const c_void,
    ) -> c_int;
    pub fn readmost_hazard_pointer_set(
        hazard: *mut readmost_hazard_pointer_t,
        head: *const readmost_hazard_head,
    );
    pub fn readmost_hazard_pointer_reset(hazard: *mut readmost_hazard_pointer_t);
    pub fn readmost_hazard_retire(
        head: *mut readmost_hazard_head,
        function: Option<readmost_hazard_function_t>,
        bytes: usize,
    ) -> c_int;
    pub fn readmost_hazard_clean_up();
    pub fn readmost_hazard_limit_backlog(objects: u64, bytes: u64, microseconds: u64);
    pub fn readmost_hazard_reclaim_by(who: c_int) -> c_int;
}
