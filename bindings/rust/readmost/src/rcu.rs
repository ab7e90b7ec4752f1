// SPDX-License-Identifier: Apache-2.0
//! Read-copy update: readers that wait for nothing, and writers that replace what readers may use.
//!
//! A reader opens a [`Section`], loads from any number of [`Rcu`]s and
//! [`RcuHashMap`](crate::RcuHashMap)s, and may use what it has loaded until the section ends: opening
//! and closing it is two calls and two stores to memory of its own thread, a load is one load. A
//! writer puts a new value in the old one's place; the old one is dropped, by a thread of the
//! library, once every section that might have loaded it is over.
//!
//! ```
//! use readmost::rcu::{self, Rcu};
//!
//! struct Limits { connections: usize, bytes: usize }
//! let limits = Rcu::new(Limits { connections: 100, bytes: 1 << 20 });
//!
//! std::thread::scope(|threads| {
//!     threads.spawn(|| {
//!         let section = rcu::section();
//!         let now = limits.load(&section);
//!         assert!(now.connections >= 100 && now.bytes == 1 << 20);
//!     });
//!     threads.spawn(|| limits.update(|old| Limits { connections: old.connections * 2, ..*old }));
//! });
//! assert_eq!(limits.into_inner().connections, 200);
//! ```
//!
//! # What a section delays
//!
//! Nothing but the dropping of old values. A section may last and sleep; meanwhile old values pile
//! up, in the whole process. A thread that replaces values faster than they can be dropped is made to
//! wait for that once 65,536 values or 32 MiB wait, outside of sections ([`limit_backlog`]).
//!
//! # Thread exit, forgotten sections, fork
//!
//! A section belongs to its thread and cannot leave it; what it has loaded may be lent to other
//! threads for as long as it lasts. A section that is forgotten ([`std::mem::forget`]) lasts for ever:
//! no value is dropped any more. If the thread exits then, the library could no longer tell that
//! something is still in use, so the process is aborted, with a message.
//!
//! The child of a `fork` has the sections of the forking thread; those of other threads are over
//! there, so a child that does not `exec` must use nothing that other threads had loaded.
//!
//! # Dropping
//!
//! Values that are replaced are dropped by a thread of the library, in which signals are blocked;
//! that is why they have to be [`Send`] and `'static`. `drop` may lock, sleep, and retire other
//! values; if it panics the process is aborted, because there is no thread to report the panic to.
//! When the process ends by returning from `main` or [`std::process::exit`], what waits is dropped
//! first. [`barrier`] waits for all that was retired before.

use crate::node::{self, drop_node};
use readmost_sys as c;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;
use std::time::Duration;

/// The process's domain.
pub(crate) const DOMAIN: *mut c::readmost_rcu_domain_t = ptr::null_mut();

// --- Sections ------------------------------------------------------------------------------------

/// A read section of the calling thread, until it is dropped. Sections nest.
///
/// Neither `Send` nor `Sync`: the library notes it in the record of the thread that has opened it.
#[must_use = "what is loaded is protected only while the section lives"]
pub struct Section {
    of_thread: PhantomData<*mut ()>,
}

/// Opens a section. Never waits.
#[inline]
pub fn section() -> Section {
    if !EXIT_IS_WATCHED.get() {
        watch_exit();
    }
    // SAFETY: closed by the section's drop, in the same thread.
    unsafe { c::readmost_rcu_read_lock(DOMAIN) };
    Section { of_thread: PhantomData }
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: opened by section() in this thread. Which of several sections is closed makes no
        // difference: the library counts them.
        unsafe { c::readmost_rcu_read_unlock(DOMAIN) };
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Section")
    }
}

fn is_inside() -> bool {
    // SAFETY: has no precondition.
    unsafe { c::readmost_rcu_read_ongoing(DOMAIN) != 0 }
}

thread_local! {
    static EXIT_IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// The library ends a thread's sections when the thread exits, in the last round of key destructors.
/// This looks for one in the round before: after the destructors of `thread_local!` values, which may
/// have sections of their own.
#[cold]
fn watch_exit() {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the pointer is to a key; the function lives as long as the process.
        let result = unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) };
        assert_eq!(result, 0, "the process has no thread-specific key left for readmost::rcu");
        KEY_FOR_EXIT.store(key, Ordering::Release);
        key
    });
    set_round(key, 1);
    EXIT_IS_WATCHED.set(true);
}

static KEY_FOR_EXIT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
// POSIX's least number of rounds (_POSIX_THREAD_DESTRUCTOR_ITERATIONS), and that of glibc and musl, is 4.
const LAST_ROUND: usize = 4 - 1;

fn set_round(key: libc::pthread_key_t, round: usize) {
    // SAFETY: the key is made and never deleted; the value is not used as a pointer.
    let result = unsafe { libc::pthread_setspecific(key, ptr::without_provenance(round)) };
    assert_eq!(result, 0, "no memory to watch the thread's exit");
}

unsafe extern "C" fn at_exit(round: *mut c_void) {
    let round = round.addr();
    if round < LAST_ROUND {
        set_round(KEY_FOR_EXIT.load(Ordering::Acquire), round + 1);
    } else if is_inside() {
        eprintln!(
            "readmost: a thread exits inside a read section: its rcu::Section was forgotten, so \
             what it has loaded may still be in use; drop every Section"
        );
        std::process::abort();
    }
}

// --- Retiring ------------------------------------------------------------------------------------

/// A value that waits for its grace period.
type Node<T> = node::Node<c::readmost_rcu_head, T>;

/// Hands a node over to the library.
///
/// # Safety
/// `node` is from `Node::boxed()`. No section that opens from now on can reach it, and nobody
/// retires it again.
unsafe fn retire_node<T: Send + 'static>(node: *mut Node<T>) {
    // SAFETY: as the caller says: no section that is open at the end of a grace period from now can
    // use the node, so drop_node() has it alone. T may be dropped by another thread, at any time.
    let result = unsafe {
        c::readmost_rcu_call(DOMAIN, node.cast(), Some(drop_node::<_, T>), size_of::<Node<T>>())
    };
    debug_assert_eq!(result, 0);
}

/// Calls `action` once, in a thread of the library, after every section that is open now is over.
///
/// For structures of your own: unlink first, and let `action` drop what is unlinked.
///
/// ```
/// use readmost::rcu;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// rcu::defer(|| DONE.store(true, Ordering::Relaxed));
/// rcu::barrier();
/// assert!(DONE.load(Ordering::Relaxed));
/// ```
pub fn defer<F: FnOnce() + Send + 'static>(action: F) {
    struct Call<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Call<F> {
        fn drop(&mut self) {
            if let Some(action) = self.0.take() {
                action();
            }
        }
    }
    // SAFETY: the node is new and nobody else knows it.
    unsafe { retire_node(Node::boxed(Call(Some(action)))) };
}

/// Drops `*object` and frees its box, in a thread of the library, after every section that is open now
/// is over.
///
/// # Safety
/// `object` is from [`Box::into_raw`]. No section that opens from now on can reach it, nobody outside
/// of a section uses it, and it is retired once.
pub unsafe fn retire<T: Send + 'static>(object: *mut T) {
    struct Unlinked<T>(*mut T);
    // SAFETY: the object is Send, and nobody else will use it when this is used.
    unsafe impl<T: Send> Send for Unlinked<T> {}
    impl<T> Drop for Unlinked<T> {
        fn drop(&mut self) {
            // SAFETY: as the caller of retire() says, and the grace period is over.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
    // SAFETY: the node is new and nobody else knows it.
    unsafe { retire_node(Node::boxed(Unlinked(object))) };
}

// --- Waiting -------------------------------------------------------------------------------------

#[cold]
fn panic_inside(what: &str) -> ! {
    panic!(
        "rcu::{what} inside a read section would wait for itself: drop the thread's Section first"
    )
}

/// Waits until every section that is open now is over.
///
/// # Panics
/// In a section of the calling thread.
#[track_caller]
pub fn synchronize() {
    // SAFETY: has no precondition.
    if unsafe { c::readmost_rcu_synchronize(DOMAIN) } != 0 {
        panic_inside("synchronize");
    }
}

/// Waits until all that was retired before is dropped, and what was deferred before is done; inside
/// such an action, all but that one.
///
/// # Panics
/// In a section of the calling thread.
#[track_caller]
pub fn barrier() {
    // SAFETY: has no precondition.
    if unsafe { c::readmost_rcu_barrier(DOMAIN) } != 0 {
        panic_inside("barrier");
    }
}

/// Starts to drop what is retired at once. Does not wait.
pub fn hurry() {
    // SAFETY: has no precondition.
    unsafe { c::readmost_rcu_hurry(DOMAIN) };
}

/// Sets how much may wait to be dropped before a thread that retires more waits too, outside of
/// sections, for a second at most for every 64 values; at first 65,536 values and 32 MiB. What values
/// own elsewhere does not count.
pub fn limit_backlog(values: u64, bytes: u64) {
    // SAFETY: has no precondition.
    unsafe { c::readmost_rcu_limit_backlog(DOMAIN, values, bytes) };
}

/// Sets how long retired values wait for others to share a grace period; at first 10 ms.
pub fn limit_laziness(time: Duration) {
    let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    // SAFETY: has no precondition.
    unsafe { c::readmost_rcu_limit_laziness(DOMAIN, microseconds) };
}

// --- Rcu -----------------------------------------------------------------------------------------

/// A value that readers load without waiting, and writers replace.
///
/// `Send` and `Sync`: a value is shared by all threads that load it, so it has to be `Sync`, and is
/// dropped by a thread of the library, at a time of its own, so it has to be `Send` and `'static`.
/// The cell itself is one atomic pointer.
///
/// The present value is dropped with the cell, at once; nobody can have a reference to it then, as
/// each borrows the cell.
pub struct Rcu<T: Send + Sync + 'static> {
    // From Node::boxed(); never null.
    current: AtomicPtr<Node<T>>,
}

impl<T: Send + Sync + 'static> Rcu<T> {
    /// Makes a cell.
    pub fn new(value: T) -> Self {
        Self { current: AtomicPtr::new(Node::boxed(value)) }
    }

    /// The present value, for as long as the section lasts. Wait-free: one load, no atomic
    /// read-modify-write and no fence.
    #[inline]
    pub fn load<'s>(&'s self, _section: &'s Section) -> &'s T {
        // Acquire pairs with the release of the writer that put it here: the value is complete.
        let node = self.current.load(Ordering::Acquire);
        // SAFETY: a node that was current within a section is not dropped before the section ends,
        // unless with the cell, which is borrowed as well.
        unsafe { &(*node).value }
    }

    /// Calls `reading` with the present value, in a section of its own.
    #[inline]
    pub fn read<R>(&self, reading: impl FnOnce(&T) -> R) -> R {
        let section = section();
        reading(self.load(&section))
    }

    /// Replaces the value; the old one is dropped once no reader can use it.
    pub fn store(&self, value: T) {
        let old = self.current.swap(Node::boxed(value), Ordering::AcqRel);
        // SAFETY: `old` can be loaded no longer, and whoever replaces a node retires it.
        unsafe { retire_node(old) };
    }

    /// Replaces the value by what `change` makes of it. `change` is called again whenever another
    /// thread has replaced the value meanwhile, so no update is lost.
    pub fn update(&self, mut change: impl FnMut(&T) -> T) {
        let inside = section();
        let mut old = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: as in load().
            let fresh = Node::boxed(change(unsafe { &(*old).value }));
            // That `old` is current means that it has been all the while: inside the section its
            // memory is put to no other use.
            match self.current.compare_exchange(old, fresh, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(current) => {
                    // SAFETY: `fresh` is from a box, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(fresh) });
                    old = current;
                }
            }
        }
        // Outside, so that it can be made to wait for the backlog.
        drop(inside);
        // SAFETY: as in store().
        unsafe { retire_node(old) };
    }

    /// The present value, which nobody else can use.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: references to the present value borrow the cell, which is borrowed mutably.
        unsafe { &mut (**self.current.get_mut()).value }
    }

    /// Ends the cell and gives its value away.
    pub fn into_inner(self) -> T {
        let node = self.current.load(Ordering::Relaxed);
        std::mem::forget(self);
        // SAFETY: as in get_mut(); the cell's drop does not run.
        unsafe { Box::from_raw(node) }.value
    }
}

impl<T: Send + Sync + 'static> Drop for Rcu<T> {
    fn drop(&mut self) {
        // SAFETY: as in get_mut(); the node is from a box.
        drop(unsafe { Box::from_raw(*self.current.get_mut()) });
    }
}

impl<T: Send + Sync + Default + 'static> Default for Rcu<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Send + Sync + 'static> From<T> for Rcu<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for Rcu<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|value| f.debug_tuple("Rcu").field(value).finish())
    }
}
