// SPDX-License-Identifier: Apache-2.0
//! One value that is read without a lock and replaced: Readmost's `Rcu`, and what other crates have.
//!
//! `load`: open a section (pin, enter, ...), load the value, read two numbers, leave. `replace beside
//! a reader`: the time of a replacement while another thread loads without a pause.

use criterion::{criterion_group, criterion_main, Criterion};
use readmost::rcu::{self, Rcu};
use readmost::HazardPointer;
use readmost_benches::{beside, together};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

#[derive(Clone)]
struct Config {
    number: u64,
    twin: u64,
}

impl Config {
    fn new(number: u64) -> Self {
        Self { number, twin: number }
    }
    #[inline]
    fn sum(&self) -> u64 {
        self.number + self.twin
    }
}

trait Cell: Sync {
    fn make() -> Self;
    fn load(&self) -> u64;
    fn replace(&self, number: u64);
}

impl Cell for Rcu<Config> {
    fn make() -> Self {
        Rcu::new(Config::new(0))
    }
    #[inline]
    fn load(&self) -> u64 {
        let section = rcu::section();
        Rcu::load(self, &section).sum()
    }
    fn replace(&self, number: u64) {
        self.store(Config::new(number));
    }
}

impl Cell for arc_swap::ArcSwap<Config> {
    fn make() -> Self {
        Self::from_pointee(Config::new(0))
    }
    #[inline]
    fn load(&self) -> u64 {
        arc_swap::ArcSwap::load(self).sum()
    }
    fn replace(&self, number: u64) {
        self.store(Arc::new(Config::new(number)));
    }
}

impl Cell for crossbeam_epoch::Atomic<Config> {
    fn make() -> Self {
        Self::new(Config::new(0))
    }
    #[inline]
    fn load(&self) -> u64 {
        let guard = crossbeam_epoch::pin();
        // SAFETY: never null, and protected by the guard.
        unsafe { crossbeam_epoch::Atomic::load(self, Ordering::Acquire, &guard).deref() }.sum()
    }
    fn replace(&self, number: u64) {
        let guard = crossbeam_epoch::pin();
        let fresh = crossbeam_epoch::Owned::new(Config::new(number));
        let old = self.swap(fresh, Ordering::AcqRel, &guard);
        // SAFETY: unlinked by the swap, once.
        unsafe { guard.defer_destroy(old) };
    }
}

struct Seize {
    collector: seize::Collector,
    current: AtomicPtr<Config>,
}

impl Cell for Seize {
    fn make() -> Self {
        let current = AtomicPtr::new(Box::into_raw(Box::new(Config::new(0))));
        Self { collector: seize::Collector::new(), current }
    }
    #[inline]
    fn load(&self) -> u64 {
        use seize::Guard;
        let guard = self.collector.enter();
        // SAFETY: never null, and protected by the guard.
        unsafe { &*guard.protect(&self.current, Ordering::Acquire) }.sum()
    }
    fn replace(&self, number: u64) {
        use seize::Guard;
        let guard = self.collector.enter();
        let fresh = Box::into_raw(Box::new(Config::new(number)));
        let old = guard.swap(&self.current, fresh, Ordering::AcqRel);
        // SAFETY: from a box, and unlinked by the swap, once.
        unsafe { guard.defer_retire(old, seize::reclaim::boxed) };
    }
}

struct Store(Config);
impl left_right::Absorb<Store> for Config {
    fn absorb_first(&mut self, operation: &mut Store, _: &Self) {
        self.clone_from(&operation.0);
    }
    fn sync_with(&mut self, first: &Self) {
        self.clone_from(first);
    }
}

/// A thread enters through a handle of its own.
struct LeftRight {
    writer: Mutex<left_right::WriteHandle<Config, Store>>,
    factory: left_right::ReadHandleFactory<Config>,
}

// SAFETY: the factory is used by one thread at a time, in handle(): under the writer's mutex.
unsafe impl Sync for LeftRight {}

thread_local! {
    static HANDLE: RefCell<Option<left_right::ReadHandle<Config>>> = const { RefCell::new(None) };
}

impl Cell for LeftRight {
    fn make() -> Self {
        let (writer, reader) = left_right::new_from_empty::<Config, Store>(Config::new(0));
        Self { writer: Mutex::new(writer), factory: reader.factory() }
    }
    #[inline]
    fn load(&self) -> u64 {
        HANDLE.with_borrow_mut(|handle| {
            let handle = handle.get_or_insert_with(|| {
                let _alone = self.writer.lock();
                self.factory.handle()
            });
            handle.enter().expect("the writer lives").sum()
        })
    }
    fn replace(&self, number: u64) {
        let mut writer = self.writer.lock().unwrap();
        writer.append(Store(Config::new(number)));
        writer.publish();
    }
}

impl Cell for readmost::HazardCell<Config> {
    fn make() -> Self {
        Self::new(Config::new(0))
    }
    #[inline]
    fn load(&self) -> u64 {
        HazardPointer::new().protect(self).expect("never empty").sum()
    }
    fn replace(&self, number: u64) {
        self.store(Config::new(number));
    }
}

impl Cell for haphazard::AtomicPtr<Config> {
    fn make() -> Self {
        Self::from(Box::new(Config::new(0)))
    }
    #[inline]
    fn load(&self) -> u64 {
        let mut hazard = haphazard::HazardPointer::new();
        self.safe_load(&mut hazard).expect("never null").sum()
    }
    fn replace(&self, number: u64) {
        let old = self.swap(Box::new(Config::new(number))).expect("never null");
        // SAFETY: unlinked by the swap, once.
        unsafe { old.retire() };
    }
}

impl Cell for RwLock<Arc<Config>> {
    fn make() -> Self {
        Self::new(Arc::new(Config::new(0)))
    }
    #[inline]
    fn load(&self) -> u64 {
        let now = Arc::clone(&self.read().unwrap());
        now.sum()
    }
    fn replace(&self, number: u64) {
        *self.write().unwrap() = Arc::new(Config::new(number));
    }
}

impl Cell for readmost::RwLock<Config> {
    fn make() -> Self {
        Self::new(Config::new(0))
    }
    #[inline]
    fn load(&self) -> u64 {
        self.read().sum()
    }
    fn replace(&self, number: u64) {
        *self.write() = Config::new(number);
    }
}

fn measure<C: Cell>(c: &mut Criterion, name: &str) {
    for threads in [1, 2] {
        let cell = C::make();
        c.bench_function(&format!("load, threads {threads}: {name}"), |b| {
            b.iter_custom(|turns| {
                together(threads, turns, |_, turns| {
                    for _ in 0..turns {
                        black_box(cell.load());
                    }
                })
            });
        });
    }
    let cell = C::make();
    c.bench_function(&format!("replace beside a reader: {name}"), |b| {
        b.iter_custom(|turns| {
            beside(
                || {
                    black_box(cell.load());
                },
                turns,
                |turns| (0..turns).for_each(|number| cell.replace(number)),
            )
        });
    });
}

/// A section that is open already, so that a load is one load; a hazard pointer that is made already.
fn within_a_section(c: &mut Criterion) {
    let cell = Rcu::new(Config::new(0));
    let section = rcu::section();
    c.bench_function("load within an open section: readmost Rcu", |b| {
        b.iter(|| black_box(cell.load(&section).sum()));
    });
    drop(section);
    let cell = readmost::HazardCell::new(Config::new(0));
    let mut hazard = HazardPointer::new();
    c.bench_function("load within an open section: readmost HazardPointer", |b| {
        b.iter(|| black_box(hazard.protect(&cell).expect("never empty").sum()));
    });
    let cell = haphazard::AtomicPtr::from(Box::new(Config::new(0)));
    let mut hazard = haphazard::HazardPointer::new();
    c.bench_function("load within an open section: haphazard", |b| {
        b.iter(|| black_box(cell.safe_load(&mut hazard).expect("never null").sum()));
    });
    let guard = crossbeam_epoch::pin();
    let other = crossbeam_epoch::Atomic::new(Config::new(0));
    c.bench_function("load within an open section: crossbeam-epoch", |b| {
        // SAFETY: never null, and protected by the guard.
        b.iter(|| black_box(unsafe { other.load(Ordering::Acquire, &guard).deref() }.sum()));
    });
}

fn cells(c: &mut Criterion) {
    within_a_section(c);
    measure::<RwLock<Arc<Config>>>(c, "std RwLock of an Arc");
    measure::<arc_swap::ArcSwap<Config>>(c, "arc-swap");
    measure::<crossbeam_epoch::Atomic<Config>>(c, "crossbeam-epoch");
    measure::<Seize>(c, "seize");
    measure::<LeftRight>(c, "left-right");
    measure::<haphazard::AtomicPtr<Config>>(c, "haphazard");
    measure::<readmost::RwLock<Config>>(c, "readmost RwLock");
    measure::<Rcu<Config>>(c, "readmost Rcu");
    measure::<readmost::HazardCell<Config>>(c, "readmost HazardCell");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(500))
        .sample_size(10);
    targets = cells
}
criterion_main!(benches);
