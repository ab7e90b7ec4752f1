//! A map under a reader-writer lock: Readmost's, and those of other crates.
//!
//! `read`: nothing but lookups. `write 1 in N`: every Nth turn of a thread changes a value. `write
//! beside a reader`: the time of a write while another thread reads without a pause.

use criterion::{criterion_group, criterion_main, Criterion};
use readmost_benches::{beside, together};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

type Map = HashMap<u64, u64>;
const KEYS: u64 = 64;

trait Lock: Sync {
    fn make(map: Map) -> Self;
    fn get(&self, key: u64) -> u64;
    fn add(&self, key: u64);
}

macro_rules! locks_of_lock_api {
    ($($name:ident),*) => {$(
        impl Lock for $name<Map> {
            fn make(map: Map) -> Self {
                Self::new(map)
            }
            #[inline]
            fn get(&self, key: u64) -> u64 {
                self.read()[&key]
            }
            #[inline]
            fn add(&self, key: u64) {
                *self.write().entry(key).or_default() += 1;
            }
        }
    )*};
}

macro_rules! locks_of_std {
    ($($name:ty),*) => {$(
        impl Lock for $name {
            fn make(map: Map) -> Self {
                Self::new(map)
            }
            #[inline]
            fn get(&self, key: u64) -> u64 {
                self.read().unwrap()[&key]
            }
            #[inline]
            fn add(&self, key: u64) {
                *self.write().unwrap().entry(key).or_default() += 1;
            }
        }
    )*};
}

use parking_lot::RwLock as ParkingLot;
use rblock::RwLock as Rblock;
use readmost::{FairRwLock, ReaderRwLock, RwLock};
locks_of_lock_api!(ParkingLot, Rblock, RwLock, ReaderRwLock, FairRwLock);
locks_of_std!(std::sync::RwLock<Map>, crossbeam_utils::sync::ShardedLock<Map>);

fn turn<L: Lock>(lock: &L, number: u64, every: Option<u64>) {
    let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
    match every {
        Some(every) if number % every == 0 => lock.add(key),
        _ => drop(black_box(lock.get(key))),
    }
}

fn measure<L: Lock>(c: &mut Criterion, name: &str) {
    let make = || L::make((0..KEYS).map(|key| (key, key)).collect());
    for threads in [1, 2] {
        for (what, every) in
            [("read", None), ("write 1 in 1000", Some(1000)), ("write 1 in 50", Some(50))]
        {
            let lock = make();
            c.bench_function(&format!("{what}, threads {threads}: {name}"), |b| {
                b.iter_custom(|turns| {
                    together(threads, turns, |thread, turns| {
                        let first = 7 * thread as u64;
                        for number in first..first + turns {
                            turn(&lock, number, every);
                        }
                    })
                });
            });
        }
    }
    let lock = make();
    c.bench_function(&format!("write beside a reader: {name}"), |b| {
        b.iter_custom(|turns| {
            beside(
                || drop(black_box(lock.get(1))),
                turns,
                |turns| (0..turns).for_each(|number| lock.add(number % KEYS)),
            )
        });
    });
}

fn locks(c: &mut Criterion) {
    measure::<std::sync::RwLock<Map>>(c, "std");
    measure::<ParkingLot<Map>>(c, "parking_lot");
    measure::<crossbeam_utils::sync::ShardedLock<Map>>(c, "crossbeam ShardedLock");
    measure::<Rblock<Map>>(c, "rblock");
    measure::<RwLock<Map>>(c, "readmost");
    measure::<ReaderRwLock<Map>>(c, "readmost, readers preferred");
    measure::<FairRwLock<Map>>(c, "readmost, phase-fair");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(500))
        .sample_size(10);
    targets = locks
}
criterion_main!(benches);
