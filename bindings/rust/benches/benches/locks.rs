// SPDX-License-Identifier: Apache-2.0
//! Numbers under a reader-writer lock: Readmost's, and those of other crates.
//!
//! `read`: a thread reads one of 64 numbers, and does nothing else. `write 1 in N`: every Nth turn of a
//! thread changes one. `write beside a reader`: the time of a write while another thread reads without
//! a pause. `look up`: as `read`, but the numbers are in a `HashMap`, so that less of the time is the
//! lock's.

use criterion::{criterion_group, criterion_main, Criterion};
use readmost_benches::{beside, together};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

struct Numbers {
    array: [u64; 64],
    map: HashMap<u64, u64>,
}

impl Numbers {
    fn new() -> Self {
        Self { array: [1; 64], map: (0..64).map(|key| (key, key)).collect() }
    }
}

trait Lock: Sync {
    fn make() -> Self;
    fn get(&self, key: u64) -> u64;
    fn look_up(&self, key: u64) -> u64;
    fn add(&self, key: u64);
}

macro_rules! locks {
    ($($name:ty, $held:ident => $guard:expr;)*) => {$(
        impl Lock for $name {
            fn make() -> Self {
                Self::new(Numbers::new())
            }
            #[inline]
            fn get(&self, key: u64) -> u64 {
                let $held = self.read();
                $guard.array[key as usize % 64]
            }
            #[inline]
            fn look_up(&self, key: u64) -> u64 {
                let $held = self.read();
                $guard.map[&key]
            }
            #[inline]
            fn add(&self, key: u64) {
                let $held = self.write();
                #[allow(unused_mut)]
                let mut numbers = $guard;
                numbers.array[key as usize % 64] += 1;
            }
        }
    )*};
}

locks! {
    std::sync::RwLock<Numbers>, held => held.unwrap();
    crossbeam_utils::sync::ShardedLock<Numbers>, held => held.unwrap();
    parking_lot::RwLock<Numbers>, held => held;
    rblock::RwLock<Numbers>, held => held;
    readmost::RwLock<Numbers>, held => held;
    readmost::ReaderRwLock<Numbers>, held => held;
    readmost::FairRwLock<Numbers>, held => held;
}

fn key_of(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58
}

fn measure<L: Lock>(c: &mut Criterion, name: &str) {
    for threads in [1, 2] {
        for (what, every) in [("read", u64::MAX), ("write 1 in 1000", 1000), ("write 1 in 50", 50)]
        {
            let lock = L::make();
            c.bench_function(&format!("{what}, threads {threads}: {name}"), |b| {
                b.iter_custom(|turns| {
                    together(threads, turns, |thread, turns| {
                        let first = 1 + 7 * thread as u64;
                        for number in first..first + turns {
                            if number % every == 0 {
                                lock.add(key_of(number));
                            } else {
                                black_box(lock.get(key_of(number)));
                            }
                        }
                    })
                });
            });
        }
    }
    let lock = L::make();
    c.bench_function(&format!("look up, threads 2: {name}"), |b| {
        b.iter_custom(|turns| {
            together(2, turns, |_, turns| {
                for number in 0..turns {
                    black_box(lock.look_up(key_of(number)));
                }
            })
        });
    });
    let lock = L::make();
    c.bench_function(&format!("write beside a reader: {name}"), |b| {
        b.iter_custom(|turns| {
            beside(
                || {
                    black_box(lock.get(1));
                },
                turns,
                |turns| (0..turns).for_each(|number| lock.add(number)),
            )
        });
    });
}

fn locks(c: &mut Criterion) {
    measure::<std::sync::RwLock<Numbers>>(c, "std");
    measure::<parking_lot::RwLock<Numbers>>(c, "parking_lot");
    measure::<crossbeam_utils::sync::ShardedLock<Numbers>>(c, "crossbeam ShardedLock");
    measure::<rblock::RwLock<Numbers>>(c, "rblock");
    measure::<readmost::RwLock<Numbers>>(c, "readmost");
    measure::<readmost::ReaderRwLock<Numbers>>(c, "readmost, readers preferred");
    measure::<readmost::FairRwLock<Numbers>>(c, "readmost, phase-fair");
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
