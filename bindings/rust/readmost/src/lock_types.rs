// SPDX-License-Identifier: Apache-2.0
// The types that `lock_api` makes of `RawRwLock`; included where `lock_api` is the name of one of its
// versions.

macro_rules! lock_types {
    ($($(#[$doc:meta])* $name:ident: $preference:ident, $read:ident $write:ident $upgradable:ident;)*) => {$(
        $(#[$doc])*
        pub type $name<T> = lock_api::RwLock<RawRwLock<$preference>, T>;
        #[doc = concat!("A read hold of [`", stringify!($name), "`].")]
        pub type $read<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock<$preference>, T>;
        #[doc = concat!("A write hold of [`", stringify!($name), "`].")]
        pub type $write<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock<$preference>, T>;
        #[doc = concat!("A read hold of [`", stringify!($name), "`] that may become a write hold.")]
        pub type $upgradable<'a, T> =
            lock_api::RwLockUpgradableReadGuard<'a, RawRwLock<$preference>, T>;
    )*};
}

lock_types! {
    /// A reader-writer lock over data, which prefers writers ([`PreferWriter`]).
    RwLock: PreferWriter, RwLockReadGuard RwLockWriteGuard RwLockUpgradableReadGuard;
    /// A reader-writer lock over data, which prefers readers ([`PreferReader`]).
    ReaderRwLock: PreferReader,
        ReaderRwLockReadGuard ReaderRwLockWriteGuard ReaderRwLockUpgradableReadGuard;
    /// A reader-writer lock over data, which is phase-fair ([`PhaseFair`]).
    FairRwLock: PhaseFair,
        FairRwLockReadGuard FairRwLockWriteGuard FairRwLockUpgradableReadGuard;
}

/// A part of what is held for reading.
pub type MappedRwLockReadGuard<'a, T, P = PreferWriter> =
    lock_api::MappedRwLockReadGuard<'a, RawRwLock<P>, T>;
/// A part of what is held for writing.
pub type MappedRwLockWriteGuard<'a, T, P = PreferWriter> =
    lock_api::MappedRwLockWriteGuard<'a, RawRwLock<P>, T>;
