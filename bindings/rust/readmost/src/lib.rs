// SPDX-License-Identifier: Apache-2.0
//! Reader-writer locks, RCU and hazard pointers for data that are mostly read. Readers execute no atomic
//! read-modify-write and no fence, and write no memory that another thread writes, so that readers
//! do not slow each other down. 64-bit little-endian Linux.
//!
//! | You have | Take |
//! |---|---|
//! | a `parking_lot::RwLock` or `std::sync::RwLock` that many threads read at once | [`RwLock`]: change the `use` line |
//! | readers that must never wait, and may use the value from before | [`Rcu`] |
//! | a map of that kind | [`RcuHashMap`] |
//! | readers that keep a value for long, and should not delay the dropping of others | [`HazardCell`] and [`HazardPointer`] |
//!
//! ```
//! use readmost::RwLock; // was: use parking_lot::RwLock;
//!
//! static NAMES: RwLock<Vec<String>> = RwLock::new(Vec::new());
//!
//! NAMES.write().push("first".to_string());
//! assert_eq!(NAMES.read().len(), 1);
//! ```
//!
//! # Locks
//!
//! [`RwLock`], [`ReaderRwLock`] and [`FairRwLock`] are `lock_api`'s lock over [`RawRwLock`], with
//! different [preferences](Preference); what `parking_lot`'s has, they have, but for the two things
//! under [`RawRwLock`]. While reads are frequent and writes are rare, a lock is *biased*: a reader
//! notes in its own thread's record that it holds the lock, and a writer, which pays for that, asks
//! the readers' threads or interrupts them by one `membarrier(2)`. A lock that is written too often
//! for that to pay is an ordinary reader-writer lock, with one compare-and-swap each way; it moves
//! between the two by itself.
//!
//! A guard may be held while another one of the same lock is, if both read. It cannot be sent to
//! another thread, so it must not be held across an `.await` of a task that may move.
//!
//! # Features
//!
//! | Feature | |
//! |---|---|
//! | `lock_api_0_4` (default) | the locks in the root of the crate |
//! | `lock_api_0_5` | the same over lock_api 0.5, in the module `lock_api_0_5`; needs Rust 1.95 |
//! | `arc_lock`, `serde` | those of `lock_api` |
//! | `system` | links the installed library instead of compiling it |
//!
//! The crate compiles C++20 code; the program needs no libstdc++ at run time.
#![warn(missing_docs, missing_debug_implementations, unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod hash_map;
pub mod hazard;
mod node;
mod preference;
mod raw;
pub mod rcu;

#[cfg(feature = "lock_api_0_4")]
mod lock_api_0_4;
#[cfg(feature = "lock_api_0_5")]
pub mod lock_api_0_5;

pub use hash_map::RcuHashMap;
pub use hazard::{HazardCell, HazardPointer};
#[cfg(feature = "lock_api_0_4")]
pub use lock_api_0_4::*;
pub use preference::{PhaseFair, PreferReader, PreferWriter, Preference};
pub use raw::RawRwLock;
pub use rcu::Rcu;

/// The library's version.
pub fn version() -> &'static str {
    // SAFETY: the library returns a string of its own that ends in a null.
    let text = unsafe { std::ffi::CStr::from_ptr(readmost_sys::readmost_version()) };
    text.to_str().expect("a version is ASCII")
}

// The examples of the crate's page are tests.
#[cfg(all(doctest, feature = "lock_api_0_4"))]
#[doc = include_str!("../README.md")]
mod readme {}
