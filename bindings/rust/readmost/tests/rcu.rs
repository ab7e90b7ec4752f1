//! `Rcu` and `RcuHashMap`: what readers see, and when values are dropped.

mod support;

use readmost::rcu::{self, Rcu};
use readmost::RcuHashMap;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use support::{counter, run_again, Counted};

#[test]
fn a_reader_keeps_what_it_has_loaded() {
    let alive = counter();
    let cell = Rcu::new(Counted::new(1, &alive));
    let section = rcu::section();
    let old = cell.load(&section);
    cell.store(Counted::new(2, &alive));
    assert_eq!(cell.load(&section).check(), 2);
    rcu::hurry();
    thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(old.check(), 1);
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    drop(section);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    drop(cell);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn nested_sections_protect_until_the_last_one_ends() {
    let alive = counter();
    let cell = Rcu::new(Counted::new(1, &alive));
    let outer = rcu::section();
    let inner = rcu::section();
    let old = cell.load(&inner);
    cell.store(Counted::new(2, &alive));
    drop(outer);
    rcu::hurry();
    thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(old.check(), 1);
    drop(inner);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 1);
}

#[test]
fn readers_see_whole_values_while_writers_replace_them() {
    let alive = counter();
    let cell = Rcu::new(Counted::new(0, &alive));
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let section = rcu::section();
                    let now = cell.load(&section).check();
                    assert!(now >= last, "a value came back");
                    last = now;
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|_| {
                threads.spawn(|| {
                    for _ in 0..2_000 {
                        cell.update(|old| Counted::new(old.check() + 1, &alive));
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(cell.read(Counted::check), 4_000);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 1);
}

#[test]
fn update_calls_again_when_another_store_comes_first() {
    let cell = Rcu::new(1);
    let mut calls = 0;
    cell.update(|old| {
        calls += 1;
        if calls == 1 {
            cell.store(10);
        }
        old + 1
    });
    assert_eq!((calls, cell.into_inner()), (2, 11));
}

#[test]
fn a_panic_in_update_changes_nothing_and_ends_the_section() {
    let cell = Rcu::new(1);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cell.update(|_| panic!("no new value"));
    }));
    assert!(result.is_err());
    rcu::synchronize();
    assert_eq!(cell.into_inner(), 1);
}

#[test]
fn into_inner_and_get_mut_have_the_present_value() {
    let alive = counter();
    let mut cell = Rcu::new(Counted::new(1, &alive));
    cell.store(Counted::new(2, &alive));
    cell.get_mut().twin = 2;
    let value = cell.into_inner();
    assert_eq!(value.check(), 2);
    drop(value);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_list_of_cells_is_read_while_it_is_cut() {
    struct Link {
        number: u32,
        next: Rcu<Option<Arc<Link>>>,
    }
    let mut list = None;
    for number in (0..10).rev() {
        list = Some(Arc::new(Link { number, next: Rcu::new(list) }));
    }
    let first = list.unwrap();
    let section = rcu::section();
    let second = first.next.load(&section).as_ref().unwrap();
    first.next.store(None);
    let mut seen = Vec::new();
    let mut at = Some(second);
    while let Some(link) = at {
        seen.push(link.number);
        at = link.next.load(&section).as_ref();
    }
    assert_eq!(seen, (1..10).collect::<Vec<_>>());
}

#[test]
fn deferred_actions_run_in_the_order_of_their_thread() {
    let (sender, receiver) = channel();
    let section = rcu::section();
    for number in 0..100 {
        let sender = sender.clone();
        rcu::defer(move || sender.send(number).unwrap());
    }
    rcu::hurry();
    thread::sleep(std::time::Duration::from_millis(20));
    assert!(receiver.try_recv().is_err());
    drop(section);
    rcu::barrier();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_deferred_action_may_retire_and_wait() {
    let alive = counter();
    let (inner, outer) = (Arc::clone(&alive), Arc::clone(&alive));
    rcu::defer(move || {
        let value = Counted::new(1, &inner);
        rcu::defer(move || drop(value));
        rcu::barrier();
    });
    rcu::barrier();
    assert_eq!(outer.load(Ordering::Relaxed), 0);
}

#[test]
fn a_retired_object_is_dropped_after_the_section() {
    let alive = counter();
    let object = Box::into_raw(Box::new(Counted::new(1, &alive)));
    let section = rcu::section();
    // SAFETY: the object is from a box and retired once; this section ends before it is dropped.
    unsafe { rcu::retire(object) };
    rcu::hurry();
    thread::sleep(std::time::Duration::from_millis(20));
    // SAFETY: in the section in which it was retired.
    assert_eq!(unsafe { &*object }.check(), 1);
    drop(section);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn to_wait_for_oneself_is_a_panic() {
    let section = rcu::section();
    assert!(std::panic::catch_unwind(rcu::synchronize).is_err());
    assert!(std::panic::catch_unwind(rcu::barrier).is_err());
    drop(section);
    rcu::synchronize();
    rcu::barrier();
}

#[test]
fn what_is_loaded_may_be_lent_to_other_threads() {
    let cell = Rcu::new(vec![1, 2, 3]);
    let section = rcu::section();
    let now = cell.load(&section);
    let sum: i32 = thread::scope(|threads| threads.spawn(|| now.iter().sum()).join().unwrap());
    assert_eq!(sum, 6);
}

#[test]
fn a_section_in_a_thread_local_ends_with_the_thread() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<rcu::Section>> = const { std::cell::RefCell::new(None) };
    }
    let alive = counter();
    let cell = Arc::new(Rcu::new(Counted::new(1, &alive)));
    thread::spawn(|| KEPT.with(|kept| *kept.borrow_mut() = Some(rcu::section()))).join().unwrap();
    cell.store(Counted::new(2, &alive));
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 1);
}

#[test]
fn a_thread_that_exits_with_a_forgotten_section_aborts_the_process() {
    if std::env::var_os("FORGET_A_SECTION").is_some() {
        let _ = thread::spawn(|| std::mem::forget(rcu::section())).join();
        return;
    }
    let name = "a_thread_that_exits_with_a_forgotten_section_aborts_the_process";
    let (aborted, text) = run_again(name, "FORGET_A_SECTION");
    assert!(aborted && text.contains("its rcu::Section was forgotten"), "{text}");
}

#[test]
fn a_panic_in_the_drop_of_a_retired_value_aborts_the_process() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    if std::env::var_os("PANIC_IN_A_DROP").is_some() {
        let cell = Rcu::new(Panics);
        cell.store(Panics);
        rcu::barrier();
        std::mem::forget(cell);
        return;
    }
    let name = "a_panic_in_the_drop_of_a_retired_value_aborts_the_process";
    let (aborted, text) = run_again(name, "PANIC_IN_A_DROP");
    assert!(aborted && text.contains("in a drop"), "{text}");
}

// --- The map -------------------------------------------------------------------------------------

#[test]
fn the_map_does_what_a_plain_one_does() {
    let map = RcuHashMap::new();
    let mut plain = HashMap::new();
    let mut random = 1_u64;
    for turn in 0..20_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let key = (random >> 40) % 1_000;
        match random >> 60 {
            0..=5 => {
                map.insert(key, turn);
                plain.insert(key, turn);
            }
            6..=8 => {
                let gave_back = map.try_insert(key, turn);
                assert_eq!(gave_back.is_err(), plain.contains_key(&key));
                plain.entry(key).or_insert(turn);
            }
            9..=11 => assert_eq!(map.remove(&key), plain.remove(&key).is_some()),
            12 => {
                assert_eq!(map.update(&key, |old| old + 1), plain.contains_key(&key));
                plain.entry(key).and_modify(|old| *old += 1);
            }
            _ => {
                let section = rcu::section();
                assert_eq!(map.get(&key, &section), plain.get(&key));
                assert_eq!(map.contains_key(&key), plain.contains_key(&key));
            }
        }
        assert_eq!(map.len(), plain.len());
    }
    map.retain(|key, _| key % 3 == 0);
    plain.retain(|key, _| key % 3 == 0);
    let mut copy = HashMap::new();
    map.for_each(|key, value| assert!(copy.insert(*key, *value).is_none()));
    assert_eq!(copy, plain);
    map.clear();
    assert!(map.is_empty());
}

#[test]
fn try_insert_gives_back_what_the_map_has() {
    let map = RcuHashMap::new();
    assert_eq!(map.try_insert("a".to_string(), 1), Ok(()));
    assert_eq!(map.try_insert("a".to_string(), 2), Err(("a".to_string(), 2)));
    assert_eq!(map.get("a", &rcu::section()), Some(&1));
}

#[test]
fn entries_are_dropped_once() {
    let alive = counter();
    let map = RcuHashMap::new();
    for number in 0..1_000 {
        map.insert(number, Counted::new(number, &alive));
    }
    for number in 0..500 {
        map.insert(number, Counted::new(number + 1, &alive));
        map.update(&(number + 500), |old| Counted::new(old.check() + 1, &alive));
    }
    assert!(map.try_insert(1, Counted::new(7, &alive)).is_err());
    assert!(map.remove(&1));
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 999);
    drop(map);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_map_may_be_dropped_in_a_section_and_while_it_is_resized() {
    let section = rcu::section();
    let map: RcuHashMap<u32, u32> = (0..5_000).map(|number| (number, number)).collect();
    drop(map);
    drop(section);
}

#[test]
fn readers_find_what_stays_while_others_come_and_go() {
    let map = RcuHashMap::new();
    let alive = counter();
    for number in 0..64 {
        map.insert(number, Counted::new(number, &alive));
    }
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let mut turns = 0_u64;
            while !done.load(Ordering::Relaxed) || turns < 64 {
                let section = rcu::section();
                let value = map.get(&(turns % 64), &section).expect("it stays").check();
                assert_eq!(value % 1_000, turns % 64);
                turns += 1;
            }
        });
        threads
            .spawn(|| {
                for number in 64..8_000 {
                    map.insert(number, Counted::new(number, &alive));
                    map.update(&(number % 64), |old| Counted::new(old.check() + 1_000, &alive));
                }
                map.retain(|number, _| *number < 64);
            })
            .join()
            .unwrap();
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(map.len(), 64);
    drop(map);
    rcu::barrier();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panic_in_a_visit_goes_through_and_the_map_stays_whole() {
    let map: RcuHashMap<u32, u32> = (0..100).map(|number| (number, number)).collect();
    let mut visits = 0;
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        map.retain(|_, _| {
            visits += 1;
            assert!(visits < 10, "enough");
            true
        });
    }));
    assert!(result.is_err());
    assert_eq!((visits, map.len()), (10, 100));
    rcu::synchronize();
}

#[test]
fn keys_that_collide_are_told_apart() {
    #[derive(Default)]
    struct Same;
    impl std::hash::Hasher for Same {
        fn finish(&self) -> u64 {
            7
        }
        fn write(&mut self, _: &[u8]) {}
    }
    let map = RcuHashMap::with_hasher(std::hash::BuildHasherDefault::<Same>::default());
    for number in 0..100 {
        map.insert(number, number * 2);
    }
    let section = rcu::section();
    for number in 0..100 {
        assert_eq!(map.get(&number, &section), Some(&(number * 2)));
    }
    assert_eq!(map.get(&100, &section), None);
}
// SPDX-License-Identifier: Apache-2.0
