// SPDX-License-Identifier: Apache-2.0
//! Who goes first when readers and writers wait: a type, so that a lock needs no memory for it.

use readmost_sys as c;

mod sealed {
    pub trait Sealed {}
}

/// Decides whether waiting readers or a waiting writer enter a lock first. Implemented by
/// [`PreferWriter`], [`PreferReader`] and [`PhaseFair`].
///
/// Under each of them a thread that holds a lock for reading may read-lock it again, also while a
/// writer waits.
pub trait Preference: sealed::Sealed + 'static {
    #[doc(hidden)]
    #[allow(clippy::declare_interior_mutable_const)]
    const FREE: c::readmost_rwlock_t;
}

/// A waiting writer keeps new readers out. A reader waits for one more writer at most once it has
/// waited for a millisecond. The default.
#[derive(Debug, Clone, Copy)]
pub enum PreferWriter {}

/// Readers enter until a writer is inside; writers may starve.
#[derive(Debug, Clone, Copy)]
pub enum PreferReader {}

/// In turns: a writer, then all readers that waited, then the next writer.
#[derive(Debug, Clone, Copy)]
pub enum PhaseFair {}

macro_rules! preferences {
    ($($name:ident = $free:ident,)*) => {$(
        impl sealed::Sealed for $name {}
        impl Preference for $name {
            const FREE: c::readmost_rwlock_t = c::$free;
        }
    )*};
}

preferences! {
    PreferWriter = READMOST_RWLOCK_INITIALIZER,
    PreferReader = READMOST_RWLOCK_INITIALIZER_READER,
    PhaseFair = READMOST_RWLOCK_INITIALIZER_PHASE_FAIR,
}
