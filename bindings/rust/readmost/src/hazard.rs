// SPDX-License-Identifier: Apache-2.0
//! Hazard pointers: a reader keeps one value and nothing else, for as long as it wants.
//!
//! A reader makes a [`HazardPointer`] and protects with it what a [`HazardCell`] has. The value stays
//! until the hazard pointer protects another one, is reset or dropped; a writer puts a new value in
//! the cell, or none. In contrast to a [section](crate::rcu::Section) of RCU this delays the dropping
//! of that one value only, so it may last, across a request or a file's transfer; and a hazard pointer
//! may move to another thread. Protecting costs a few nanoseconds more than a load in a section, and
//! no atomic read-modify-write or fence: who drops values pays for that, by a `membarrier(2)` now and
//! then.
//!
//! ```
//! use readmost::{HazardCell, HazardPointer};
//!
//! let table = HazardCell::new(vec!["a", "b"]);
//! let mut hazard = HazardPointer::new();
//! let rows = hazard.protect(&table).expect("the cell has a value");
//! table.store(vec!["c"]);
//! assert_eq!(rows.len(), 2); // what was protected is as it was
//! assert_eq!(hazard.protect(&table).unwrap().len(), 1);
//! ```
//!
//! # Linked structures
//!
//! A value may have cells. A reader goes from one to the next by two hazard pointers in turn: while one
//! protects the value that the cell is in, the other protects what the cell leads to. What is protected
//! borrows the hazard pointer and not the cell, so the former value may go then.
//!
//! ```
//! use readmost::{HazardCell, HazardPointer};
//!
//! struct Link { number: u32, next: HazardCell<Link> }
//! let end = HazardCell::new(Link { number: 2, next: HazardCell::empty() });
//! let list = HazardCell::new(Link { number: 1, next: end });
//!
//! let (mut here, mut there) = (HazardPointer::new(), HazardPointer::new());
//! let first = here.protect(&list).unwrap();
//! let second = there.protect(&first.next).unwrap();
//! list.clear(); // the links go, but for the two that are protected
//! assert_eq!(first.number + second.number, 3);
//! ```
//!
//! # Dropping
//!
//! A value that is replaced is dropped once no hazard pointer protects it: by a thread that replaces a
//! value later, whatever the cell and the type, in [`HazardCell::store`] and its kin, once 128 values
//! or 1 MiB wait in the process or a second has passed ([`limit_backlog`]). So do not replace a value
//! while holding a lock that the `drop` of any value in a cell takes; where that cannot be, let a
//! thread of the library drop values, by [`reclaim_by`]`(`[`ReclaimBy::Background`]`)`. If `drop`
//! panics the process is aborted. Values that wait when the process ends are not dropped;
//! [`clean_up`] drops those that are not protected.
//!
//! A cell that is dropped retires its value as well. So a list of any length goes without recursion,
//! link by link.
//!
//! # Forgotten hazard pointers, fork
//!
//! What a forgotten hazard pointer ([`std::mem::forget`]) protects is never dropped; nothing else is
//! delayed, also not by its thread's exit. In the child of a `fork`, what any thread of the parent
//! protected stays protected.

use crate::node::{self, drop_node};
use readmost_sys as c;
use std::fmt;
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

// --- Hazard pointers -----------------------------------------------------------------------------

/// Protects one value at a time, or none.
///
/// `Send`: the library's part belongs to the hazard pointer and to no thread, so any thread may go on
/// using it or end it. What it protects is borrowed from it, so it cannot move while a reference is
/// left; and values are `Send` and `Sync` anyway.
///
/// `Sync`: a shared reference to a hazard pointer is of no use, as each operation needs an exclusive
/// one.
pub struct HazardPointer {
    // Never empty.
    raw: c::readmost_hazard_pointer_t,
}

// SAFETY: the library lets a hazard pointer move between threads; see above.
unsafe impl Send for HazardPointer {}
// SAFETY: nothing can be done with a shared reference; see above.
unsafe impl Sync for HazardPointer {}

impl HazardPointer {
    /// Makes one that protects nothing. Takes a few nanoseconds; a thread keeps some for reuse.
    ///
    /// # Panics
    /// Without memory for one more.
    #[inline]
    pub fn new() -> Self {
        let mut raw = c::readmost_hazard_pointer_t::new();
        // SAFETY: has no precondition; ended in drop().
        let result = unsafe { c::readmost_hazard_pointer_create(&mut raw) };
        assert_eq!(result, 0, "no memory for a hazard pointer");
        Self { raw }
    }

    /// The present value of the cell, which stays for as long as it is borrowed from the hazard
    /// pointer. What was protected before is not any more. Lock-free: tries again while the cell
    /// changes.
    #[inline]
    pub fn protect<'h, T: Send + Sync + 'static>(
        &'h mut self,
        cell: &HazardCell<T>,
    ) -> Option<&'h T> {
        // SAFETY: a node that is protected is not dropped before the protection ends, which takes a
        // mutable borrow of `self`, or its end; 'h lasts no longer.
        self.protect_node(cell).map(|node| unsafe { &(*node).value })
    }

    /// Protects nothing.
    #[inline]
    pub fn reset(&mut self) {
        // SAFETY: the hazard pointer is not empty. What it protected is no longer borrowed from it.
        unsafe { c::readmost_hazard_pointer_reset(&mut self.raw) };
    }

    /// What is returned stays, and may be read, until the next call of a function of `self` that
    /// changes what is protected.
    #[inline]
    fn protect_node<T: Send + Sync + 'static>(
        &mut self,
        cell: &HazardCell<T>,
    ) -> Option<*mut Node<T>> {
        // SAFETY: the hazard pointer is not empty; the cell's pointer is null or to a node, and these
        // begin with their heads. Loads with acquire, which pairs with the release of the writer that
        // put the node here: the value is complete.
        let node = unsafe {
            c::readmost_hazard_pointer_protect(&mut self.raw, cell.current.as_ptr().cast())
        };
        if node.is_null() {
            None
        } else {
            Some(node.cast())
        }
    }
}

impl Drop for HazardPointer {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as in reset().
        unsafe { c::readmost_hazard_pointer_destroy(&mut self.raw) };
    }
}

impl Default for HazardPointer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HazardPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HazardPointer")
    }
}

// --- Values --------------------------------------------------------------------------------------

/// A value that waits for the last hazard pointer which protects it.
type Node<T> = node::Node<c::readmost_hazard_head, T>;

/// Hands a node over to the library. May drop others.
///
/// # Safety
/// `node` is null or from `Node::boxed()`. No cell has it any more, and nobody retires it again.
unsafe fn retire_node<T: Send + Sync + 'static>(node: *mut Node<T>) {
    if node.is_null() {
        return;
    }
    // SAFETY: as the caller says: whoever still uses the node has protected it before this call, so
    // drop_node() has it alone. T may be dropped by another thread, at any time.
    let result = unsafe {
        c::readmost_hazard_retire(node.cast(), Some(drop_node::<_, T>), size_of::<Node<T>>())
    };
    debug_assert_eq!(result, 0);
}

/// A value, or none, that readers protect by hazard pointers and writers replace.
///
/// `Send` and `Sync`: a value is shared by all threads that protect it, so it has to be `Sync`, and is
/// dropped by any thread, at any time later, so it has to be `Send` and `'static`. The cell itself is
/// one atomic pointer.
///
/// The value may be protected when the cell goes, so it is retired too, and nobody can have it alone:
/// there is no `get_mut` and no `into_inner`. [`Rcu`](crate::Rcu) has them.
pub struct HazardCell<T: Send + Sync + 'static> {
    // Null, or from Node::boxed().
    current: AtomicPtr<Node<T>>,
}

impl<T: Send + Sync + 'static> HazardCell<T> {
    /// Makes a cell with a value.
    pub fn new(value: T) -> Self {
        Self { current: AtomicPtr::new(Node::boxed(value)) }
    }

    /// Makes a cell without a value.
    #[inline]
    pub const fn empty() -> Self {
        Self { current: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether the cell has no value at present.
    pub fn is_empty(&self) -> bool {
        self.current.load(Ordering::Relaxed).is_null()
    }

    /// Calls `reading` with the present value, under a hazard pointer of its own.
    #[inline]
    pub fn read<R>(&self, reading: impl FnOnce(Option<&T>) -> R) -> R {
        reading(HazardPointer::new().protect(self))
    }

    /// Replaces the value. The old one is dropped later, and others may be dropped in the call.
    pub fn store(&self, value: T) {
        self.replace(Node::boxed(value));
    }

    /// Takes the value out. It is dropped later, and others may be dropped in the call.
    pub fn clear(&self) {
        self.replace(ptr::null_mut());
    }

    fn replace(&self, fresh: *mut Node<T>) {
        let old = self.current.swap(fresh, Ordering::AcqRel);
        // SAFETY: the cell does not have `old` any more, and whoever takes a node out retires it.
        unsafe { retire_node(old) };
    }

    /// Replaces the value by what `change` makes of it, which may be none. `change` is called again
    /// whenever another thread has replaced the value meanwhile, so no update is lost. Uses the hazard
    /// pointer, which protects nothing afterwards.
    pub fn update(
        &self,
        hazard: &mut HazardPointer,
        mut change: impl FnMut(Option<&T>) -> Option<T>,
    ) {
        loop {
            let old = hazard.protect_node(self);
            // SAFETY: `old` is protected until the next turn, or the reset below.
            let fresh = match change(old.map(|node| unsafe { &(*node).value })) {
                Some(value) => Node::boxed(value),
                None => ptr::null_mut(),
            };
            let old = old.unwrap_or(ptr::null_mut());
            // That `old` is current means that it has been all the while: as it is protected its memory
            // is put to no other use.
            let result =
                self.current.compare_exchange(old, fresh, Ordering::AcqRel, Ordering::Relaxed);
            if result.is_ok() {
                hazard.reset();
                // SAFETY: as in replace().
                return unsafe { retire_node(old) };
            }
            if !fresh.is_null() {
                // SAFETY: `fresh` is from a box, and nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

impl<T: Send + Sync + 'static> Drop for HazardCell<T> {
    fn drop(&mut self) {
        // SAFETY: the cell goes; its value may still be protected.
        unsafe { retire_node(*self.current.get_mut()) };
    }
}

impl<T: Send + Sync + 'static> Default for HazardCell<T> {
    /// An empty cell.
    fn default() -> Self {
        Self::empty()
    }
}

impl<T: Send + Sync + 'static> From<T> for HazardCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for HazardCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|value| f.debug_tuple("HazardCell").field(&value).finish())
    }
}

// --- Dropping ------------------------------------------------------------------------------------

/// Drops the values that any thread has replaced before and no hazard pointer protects, except those
/// that another thread is about to drop; also what these retire. Has no effect in the `drop` of such a
/// value. Waits for no reader.
pub fn clean_up() {
    // SAFETY: has no precondition.
    unsafe { c::readmost_hazard_clean_up() };
}

/// Sets when a thread that replaces a value drops others: as soon as so many values or bytes wait in
/// the process, or so long after the last time; at first 128 values, 1 MiB and a second. More values if
/// there are more than half as many hazard pointers. What values own elsewhere does not count.
pub fn limit_backlog(values: u64, bytes: u64, time: Duration) {
    let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    // SAFETY: has no precondition.
    unsafe { c::readmost_hazard_limit_backlog(values, bytes, microseconds) };
}

/// Who drops values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReclaimBy {
    /// Threads that replace values: the default.
    Writers,
    /// A thread of the library, within a second. What `main` has left when it returns is dropped, too,
    /// if that takes no longer than a second.
    Background,
    /// Threads that call [`clean_up`], alone: nothing is bounded.
    Request,
}

/// Sets who drops values from now on, in the whole process.
pub fn reclaim_by(who: ReclaimBy) {
    let who = match who {
        ReclaimBy::Writers => c::READMOST_RCU_IN_PLACE,
        ReclaimBy::Background => c::READMOST_RCU_IN_BACKGROUND,
        ReclaimBy::Request => c::READMOST_RCU_ON_REQUEST,
    };
    // SAFETY: has no precondition.
    let result = unsafe { c::readmost_hazard_reclaim_by(who) };
    debug_assert_eq!(result, 0);
}
