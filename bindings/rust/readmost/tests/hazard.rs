//! `HazardPointer` and `HazardCell`: what readers see, and when values are dropped.

mod support;

use readmost::hazard::{self, HazardCell, HazardPointer};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use support::{counter, run_again, Counted};

/// After which a test that waits fails, in seconds.
const PATIENCE: u64 = 20;

/// Drops what is not protected; returns how many are left. Another test's thread may be about to drop
/// some: waits for that.
fn left(alive: &AtomicUsize, expected: usize) -> usize {
    let begin = Instant::now();
    loop {
        hazard::clean_up();
        let now = alive.load(Ordering::Relaxed);
        if now <= expected || begin.elapsed() > Duration::from_secs(PATIENCE) {
            return now;
        }
        thread::yield_now();
    }
}

#[test]
fn a_reader_keeps_what_it_has_protected_and_nothing_else() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    let old = pointer.protect(&cell).unwrap();
    for number in 2..1_000 {
        cell.store(Counted::new(number, &alive));
    }
    assert_eq!(left(&alive, 2), 2);
    assert_eq!(old.check(), 1);
    assert_eq!(pointer.protect(&cell).unwrap().check(), 999);
    assert_eq!(left(&alive, 1), 1);
    cell.clear();
    assert!(cell.is_empty());
    assert_eq!(left(&alive, 1), 1);
    pointer.reset();
    assert_eq!(left(&alive, 0), 0);
    assert!(pointer.protect(&cell).is_none());
}

#[test]
fn a_hazard_pointer_that_is_dropped_protects_nothing() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    pointer.protect(&cell).unwrap().check();
    cell.clear();
    assert_eq!(left(&alive, 1), 1);
    drop(pointer);
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn a_protected_value_outlives_its_cell() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    let value = pointer.protect(&cell).unwrap();
    drop(cell);
    assert_eq!(left(&alive, 1), 1);
    assert_eq!(value.check(), 1);
    drop(pointer);
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn a_hazard_pointer_may_move_to_another_thread() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    pointer.protect(&cell).unwrap().check();
    cell.clear();
    let pointer = thread::spawn(move || pointer).join().unwrap();
    assert_eq!(left(&alive, 1), 1);
    thread::spawn(move || drop(pointer)).join().unwrap();
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn what_is_protected_may_be_lent_to_other_threads() {
    let cell = HazardCell::new(vec![1, 2, 3]);
    let mut pointer = HazardPointer::new();
    let now = pointer.protect(&cell).unwrap();
    cell.clear();
    let sum: i32 = thread::scope(|threads| threads.spawn(|| now.iter().sum()).join().unwrap());
    assert_eq!(sum, 6);
}

#[test]
fn a_forgotten_hazard_pointer_keeps_its_value_for_ever() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut pointer = HazardPointer::new();
            pointer.protect(&cell).unwrap().check();
            std::mem::forget(pointer);
        });
    });
    cell.store(Counted::new(2, &alive));
    cell.store(Counted::new(3, &alive));
    assert_eq!(left(&alive, 2), 2);
    hazard::clean_up();
    assert_eq!(alive.load(Ordering::Relaxed), 2);
}

#[test]
fn a_hazard_pointer_in_a_thread_local_ends_with_the_thread() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<HazardPointer>> =
            const { std::cell::RefCell::new(None) };
    }
    let alive = counter();
    let cell = Arc::new(HazardCell::new(Counted::new(1, &alive)));
    let there = Arc::clone(&cell);
    thread::spawn(move || {
        let mut pointer = HazardPointer::new();
        pointer.protect(&there).unwrap().check();
        KEPT.with(|kept| *kept.borrow_mut() = Some(pointer));
    })
    .join()
    .unwrap();
    cell.clear();
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn readers_see_whole_values_while_writers_replace_them() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(0, &alive));
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let (mut one, mut other) = (HazardPointer::new(), HazardPointer::new());
                let mut former = one.protect(&cell).unwrap();
                while !done.load(Ordering::Relaxed) {
                    let now = other.protect(&cell).unwrap();
                    assert!(now.check() >= former.check(), "a value came back");
                    former = one.protect(&cell).unwrap();
                    assert!(former.check() >= now.check(), "a value came back");
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|_| {
                threads.spawn(|| {
                    let mut pointer = HazardPointer::new();
                    for _ in 0..20_000 {
                        cell.update(&mut pointer, |old| {
                            Some(Counted::new(old.unwrap().check() + 1, &alive))
                        });
                    }
                })
            })
            .collect();
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_eq!(cell.read(|value| value.unwrap().check()), 40_000);
    assert_eq!(left(&alive, 1), 1);
    drop(cell);
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn a_stalled_reader_does_not_let_the_backlog_grow() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(0, &alive));
    let (protected, go_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut pointer = HazardPointer::new();
            let value = pointer.protect(&cell).unwrap();
            protected.wait();
            go_on.wait();
            assert_eq!(value.check(), 0);
        });
        protected.wait();
        let mut most = 0;
        for number in 1..50_000 {
            cell.store(Counted::new(number, &alive));
            most = most.max(alive.load(Ordering::Relaxed));
        }
        // Other tests' threads may be about to drop some.
        assert!(most < 5_000, "{most} values wait");
        assert_eq!(left(&alive, 2), 2);
        go_on.wait();
    });
}

#[test]
fn update_calls_again_when_another_store_comes_first() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    let mut calls = 0;
    cell.update(&mut pointer, |old| {
        calls += 1;
        if calls == 1 {
            cell.store(Counted::new(10, &alive));
        }
        old.map(|old| Counted::new(old.check() + 1, &alive))
    });
    assert_eq!((calls, pointer.protect(&cell).unwrap().check()), (2, 11));
    pointer.reset();
    assert_eq!(left(&alive, 1), 1, "the refused value is dropped");
    cell.update(&mut pointer, |_| None);
    assert!(cell.is_empty());
    cell.update(&mut pointer, |old| Some(Counted::new(old.map_or(5, |_| 0), &alive)));
    assert_eq!(pointer.protect(&cell).unwrap().check(), 5);
}

#[test]
fn update_protects_nothing_afterwards() {
    let alive = counter();
    let cell = HazardCell::new(Counted::new(1, &alive));
    let mut pointer = HazardPointer::new();
    cell.update(&mut pointer, |_| Some(Counted::new(2, &alive)));
    assert_eq!(left(&alive, 1), 1);
    cell.clear();
    assert_eq!(left(&alive, 0), 0);
    drop(pointer);
}

#[test]
fn a_panic_in_update_changes_nothing() {
    let cell = HazardCell::new(1);
    let mut pointer = HazardPointer::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cell.update(&mut pointer, |_| panic!("no new value"));
    }));
    assert!(result.is_err());
    assert_eq!(pointer.protect(&cell), Some(&1));
}

struct Link {
    number: u64,
    _counted: Counted,
    next: HazardCell<Link>,
}

fn list_of(links: u64, alive: &Arc<AtomicUsize>) -> HazardCell<Link> {
    let mut list = HazardCell::empty();
    for number in (0..links).rev() {
        list = HazardCell::new(Link { number, _counted: Counted::new(number, alive), next: list });
    }
    list
}

#[test]
fn a_list_is_read_hand_over_hand_while_it_is_cut() {
    let alive = counter();
    let list = list_of(100, &alive);
    let (mut one, mut other) = (HazardPointer::new(), HazardPointer::new());
    let mut at = one.protect(&list).unwrap();
    for number in (1..99).step_by(2) {
        let next = other.protect(&at.next).unwrap();
        assert_eq!((at.number, next.number), (number - 1, number));
        if number == 49 {
            list.clear(); // takes the links before along, one by one
            hazard::clean_up();
        }
        at = one.protect(&next.next).unwrap();
    }
    assert_eq!(at.number, 98);
    drop((one, other));
    assert_eq!(left(&alive, 0), 0);
}

#[test]
fn a_long_list_is_dropped_without_recursion() {
    let alive = counter();
    // A drop that called the next one would need more than the stack.
    let list = list_of(200_000, &alive);
    let there = Arc::clone(&alive);
    thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(move || {
            drop(list);
            assert_eq!(left(&there, 0), 0);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_cell_and_a_hazard_pointer_can_be_shown() {
    let cell = HazardCell::new(7);
    assert_eq!(
        format!("{cell:?} {:?}", HazardPointer::default()),
        "HazardCell(Some(7)) HazardPointer"
    );
    assert_eq!(format!("{:?}", HazardCell::<u8>::default()), "HazardCell(None)");
    assert_eq!(HazardCell::from(7).read(|value| value.copied()), Some(7));
}

#[test]
fn a_panic_in_the_drop_of_a_value_aborts_the_process() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    if std::env::var_os("PANIC_IN_A_DROP").is_some() {
        HazardCell::new(Panics).clear();
        hazard::clean_up();
        return;
    }
    let name = "a_panic_in_the_drop_of_a_value_aborts_the_process";
    let (aborted, text) = run_again(name, "PANIC_IN_A_DROP");
    assert!(aborted && text.contains("in a drop"), "{text}");
}
// SPDX-License-Identifier: Apache-2.0
