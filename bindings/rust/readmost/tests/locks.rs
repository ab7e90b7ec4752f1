//! The locks as `lock_api` presents them, once for each of its versions and each preference.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Reads so often that the lock becomes biased where it can: the next guards are passive.
macro_rules! make_hot {
    ($lock:expr) => {
        for _ in 0..20_000 {
            drop($lock.read());
        }
    };
}

fn own_id() -> libc::pid_t {
    // SAFETY: has no precondition.
    unsafe { libc::gettid() }
}

/// Waits until a thread sleeps, for ever if it never does.
fn await_sleep(id: libc::pid_t) {
    loop {
        let state = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap();
        if state.rsplit(") ").next().unwrap().starts_with('S') {
            return;
        }
        thread::yield_now();
    }
}

macro_rules! tests_of {
    ($module:ident, $lock_api:ident, $lock:ty) => {
        mod $module {
            use super::*;
            type Lock<T> = $lock_api::RwLock<$lock, T>;

            fn cold_and_hot(test: impl Fn(&Lock<u32>)) {
                test(&Lock::new(0));
                let hot = Lock::new(0);
                make_hot!(hot);
                test(&hot);
            }

            fn elsewhere<R: Send>(action: impl FnOnce() -> R + Send) -> R {
                thread::scope(|threads| threads.spawn(action).join().unwrap())
            }

            #[test]
            fn readers_share_and_writers_are_alone() {
                cold_and_hot(|lock| {
                    let first = lock.read();
                    elsewhere(|| assert!(lock.try_read().is_some()));
                    elsewhere(|| assert!(lock.try_write().is_none()));
                    drop(first);
                    let writer = lock.write();
                    elsewhere(|| assert!(lock.try_read().is_none()));
                    elsewhere(|| assert!(lock.try_write().is_none()));
                    drop(writer);
                    assert!(lock.try_write().is_some());
                });
            }

            #[test]
            fn says_whether_it_is_locked() {
                cold_and_hot(|lock| {
                    assert!(!lock.is_locked());
                    let reading = lock.read();
                    assert!(lock.is_locked() && !lock.is_locked_exclusive());
                    drop(reading);
                    let writing = lock.write();
                    assert!(lock.is_locked() && lock.is_locked_exclusive());
                    drop(writing);
                    assert!(!lock.is_locked());
                });
            }

            #[test]
            fn counts_what_many_threads_write() {
                let lock = Lock::new((0_u64, 0_u64));
                thread::scope(|threads| {
                    for _ in 0..3 {
                        threads.spawn(|| {
                            for turn in 0..3_000 {
                                if turn % 16 == 0 {
                                    let mut both = lock.write();
                                    both.0 += 1;
                                    std::hint::black_box(&mut both);
                                    both.1 += 1;
                                } else {
                                    let both = lock.read();
                                    assert_eq!(both.0, both.1);
                                }
                            }
                        });
                    }
                });
                assert_eq!(lock.into_inner(), (564, 564));
            }

            #[test]
            fn a_waiting_writer_gets_in() {
                cold_and_hot(|lock| {
                    let reading = lock.read();
                    thread::scope(|threads| {
                        let (tell, told) = channel();
                        let writer = threads.spawn(move || {
                            tell.send(own_id()).unwrap();
                            *lock.write() += 1;
                        });
                        await_sleep(told.recv().unwrap());
                        assert!(!lock.is_locked_exclusive());
                        drop(reading);
                        writer.join().unwrap();
                    });
                    assert_eq!(*lock.read(), 1);
                });
            }

            #[test]
            fn a_thread_reads_what_it_reads_while_a_writer_waits() {
                cold_and_hot(|lock| {
                    let outer = lock.read();
                    thread::scope(|threads| {
                        let (tell, told) = channel();
                        let writer = threads.spawn(move || {
                            tell.send(own_id()).unwrap();
                            *lock.write() += 1;
                        });
                        await_sleep(told.recv().unwrap());
                        drop(lock.read());
                        drop(outer);
                        writer.join().unwrap();
                    });
                });
            }

            #[test]
            fn gives_up_at_the_deadline_and_not_before() {
                cold_and_hot(|lock| {
                    let timeout = Duration::from_millis(5);
                    let writing = lock.write();
                    elsewhere(|| {
                        let begin = Instant::now();
                        assert!(lock.try_read_for(timeout).is_none());
                        assert!(begin.elapsed() >= timeout);
                        let end = Instant::now() + timeout;
                        assert!(lock.try_write_until(end).is_none());
                        assert!(Instant::now() >= end);
                        assert!(lock.try_read_until(begin).is_none());
                        assert!(lock.try_write_for(Duration::ZERO).is_none());
                        assert!(lock.try_upgradable_read_for(timeout).is_none());
                    });
                    drop(writing);
                    // What is free is had even if the time has passed, and for ever is long enough.
                    assert!(lock.try_read_for(Duration::ZERO).is_some());
                    assert!(lock.try_write_for(Duration::MAX).is_some());
                    assert!(lock.try_read_for(Duration::MAX).is_some());
                    assert!(lock.try_upgradable_read_for(Duration::MAX).is_some());
                });
            }

            #[test]
            fn a_timed_attempt_gets_what_is_released_meanwhile() {
                cold_and_hot(|lock| {
                    let writing = lock.write();
                    thread::scope(|threads| {
                        let (tell, told) = channel();
                        let reader = threads.spawn(move || {
                            tell.send(own_id()).unwrap();
                            lock.try_read_for(Duration::from_secs(60)).is_some()
                        });
                        await_sleep(told.recv().unwrap());
                        drop(writing);
                        assert!(reader.join().unwrap());
                    });
                });
            }

            #[test]
            fn downgrade_lets_readers_in_and_no_writer() {
                cold_and_hot(|lock| {
                    let writing = lock.write();
                    let reading = $lock_api::RwLockWriteGuard::downgrade(writing);
                    elsewhere(|| assert!(lock.try_read().is_some()));
                    elsewhere(|| assert!(lock.try_write().is_none()));
                    drop(reading);
                    assert!(lock.try_write().is_some());
                });
            }

            #[test]
            fn one_thread_at_a_time_may_upgrade() {
                cold_and_hot(|lock| {
                    let upgradable = lock.upgradable_read();
                    elsewhere(|| assert!(lock.try_read().is_some()));
                    elsewhere(|| assert!(lock.try_upgradable_read().is_none()));
                    elsewhere(|| assert!(lock.try_write().is_none()));
                    let mut writing = $lock_api::RwLockUpgradableReadGuard::upgrade(upgradable);
                    *writing += 1;
                    elsewhere(|| assert!(lock.try_read().is_none()));
                    elsewhere(|| assert!(lock.try_upgradable_read().is_none()));
                    let upgradable = $lock_api::RwLockWriteGuard::downgrade_to_upgradable(writing);
                    elsewhere(|| assert!(lock.try_read().is_some()));
                    elsewhere(|| assert!(lock.try_upgradable_read().is_none()));
                    let reading = $lock_api::RwLockUpgradableReadGuard::downgrade(upgradable);
                    elsewhere(|| assert!(lock.try_upgradable_read().is_some()));
                    drop(reading);
                    assert!(lock.try_write().is_some());
                });
            }

            #[test]
            fn an_upgrade_waits_for_the_other_readers() {
                cold_and_hot(|lock| {
                    let (reads, may_leave) = channel();
                    let (inside, is_inside) = channel();
                    thread::scope(|threads| {
                        threads.spawn(move || {
                            let reading = lock.read();
                            inside.send(()).unwrap();
                            may_leave.recv().unwrap();
                            drop(reading);
                        });
                        is_inside.recv().unwrap();
                        let held = lock.upgradable_read();
                        let held = $lock_api::RwLockUpgradableReadGuard::try_upgrade(held)
                            .err()
                            .expect("another thread reads");
                        let timeout = Duration::from_millis(5);
                        let begin = Instant::now();
                        let held =
                            $lock_api::RwLockUpgradableReadGuard::try_upgrade_for(held, timeout)
                                .err()
                                .expect("another thread reads");
                        assert!(begin.elapsed() >= timeout);
                        reads.send(()).unwrap();
                        *$lock_api::RwLockUpgradableReadGuard::upgrade(held) += 1;
                    });
                    assert!(!lock.is_locked());
                });
            }

            #[test]
            fn upgrades_lose_no_update() {
                let lock = Lock::new(0);
                let upgrades = AtomicUsize::new(0);
                thread::scope(|threads| {
                    for number in 0..3 {
                        let (lock, upgrades) = (&lock, &upgrades);
                        threads.spawn(move || {
                            for turn in 0..500 {
                                match (turn + number) % 5 {
                                    0 => {
                                        let held = lock.upgradable_read();
                                        let seen = *held;
                                        *$lock_api::RwLockUpgradableReadGuard::upgrade(held) =
                                            seen + 1;
                                        upgrades.fetch_add(1, Ordering::Relaxed);
                                    }
                                    1 => {
                                        let mut held = lock.write();
                                        *held += 1;
                                        upgrades.fetch_add(1, Ordering::Relaxed);
                                        let seen = *held;
                                        let held =
                                            $lock_api::RwLockWriteGuard::downgrade_to_upgradable(
                                                held,
                                            );
                                        assert_eq!(*held, seen);
                                        *$lock_api::RwLockUpgradableReadGuard::upgrade(held) += 1;
                                        upgrades.fetch_add(1, Ordering::Relaxed);
                                    }
                                    _ => drop(lock.read()),
                                }
                            }
                        });
                    }
                });
                assert_eq!(lock.into_inner(), upgrades.into_inner());
            }

            #[test]
            fn an_upgrade_over_a_second_guard_panics_and_keeps_nothing() {
                cold_and_hot(|lock| {
                    let other = lock.read();
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let held = lock.upgradable_read();
                        drop($lock_api::RwLockUpgradableReadGuard::upgrade(held));
                    }));
                    assert!(result.is_err());
                    assert!(lock.try_upgradable_read().is_some());
                    drop(other);
                    assert!(!lock.is_locked());
                });
            }

            #[test]
            fn a_panic_releases_the_lock() {
                cold_and_hot(|lock| {
                    let result = thread::scope(|threads| {
                        threads
                            .spawn(|| {
                                let _writing = lock.write();
                                panic!("the lock knows no poison");
                            })
                            .join()
                    });
                    assert!(result.is_err());
                    assert!(lock.try_write().is_some());
                });
            }

            #[test]
            fn may_be_moved_and_dropped_when_guards_were_forgotten() {
                for hot in [false, true] {
                    for write in [false, true] {
                        let exits_later = Arc::new(AtomicBool::new(false));
                        let (moved, moves) = channel();
                        let waits = Arc::clone(&exits_later);
                        let owner = thread::spawn(move || {
                            let lock = Box::new(Lock::new(String::from("data")));
                            if hot {
                                make_hot!(lock);
                            }
                            if write {
                                std::mem::forget(lock.write());
                            } else {
                                std::mem::forget(lock.read());
                                assert!(lock.try_read().is_some());
                            }
                            moved.send(*lock).unwrap();
                            while !waits.load(Ordering::Acquire) {
                                thread::yield_now();
                            }
                            // Here the library looks at what the thread still holds.
                        });
                        let here = moves.recv().unwrap();
                        assert!(here.is_locked());
                        assert!(here.try_write().is_none());
                        assert_eq!(here.is_locked_exclusive(), write);
                        drop(here);
                        exits_later.store(true, Ordering::Release);
                        owner.join().unwrap();
                    }
                }
            }

            #[test]
            fn a_forgotten_guard_holds_the_lock_beyond_its_thread() {
                cold_and_hot(|lock| {
                    elsewhere(|| std::mem::forget(lock.read()));
                    assert!(lock.is_locked());
                    assert!(lock.try_write().is_none());
                });
            }

            #[test]
            fn many_locks_come_and_go() {
                for turn in 0..300 {
                    let lock = Lock::new(turn);
                    if turn % 50 == 0 {
                        make_hot!(lock);
                    }
                    assert_eq!(*lock.read(), turn);
                    *lock.write() += 1;
                    assert_eq!(lock.into_inner(), turn + 1);
                }
            }

            #[test]
            fn data_may_be_unsized_and_guards_show_a_part() {
                let lock: Box<Lock<[u32]>> = Box::new(Lock::new([1, 2, 3]));
                lock.write()[1] = 5;
                let second = $lock_api::RwLockReadGuard::map(lock.read(), |all| &all[1]);
                assert_eq!(*second, 5);
                assert!(lock.try_write().is_none());
                assert!(format!("{lock:?}").contains('5'));
            }
        }
    };
}

mod v0_4 {
    use super::*;
    tests_of!(writer, lock_api_0_4, readmost::RawRwLock);
    tests_of!(reader, lock_api_0_4, readmost::RawRwLock<readmost::PreferReader>);
    tests_of!(fair, lock_api_0_4, readmost::RawRwLock<readmost::PhaseFair>);
}

#[cfg(feature = "lock_api_0_5")]
mod v0_5 {
    use super::*;
    tests_of!(writer, lock_api_0_5, readmost::RawRwLock);
    tests_of!(reader, lock_api_0_5, readmost::RawRwLock<readmost::PreferReader>);
    tests_of!(fair, lock_api_0_5, readmost::RawRwLock<readmost::PhaseFair>);
}

#[test]
fn a_recursive_read_passes_a_waiting_writer_whoever_reads() {
    for hot in [false, true] {
        let lock = readmost::ReaderRwLock::new(0);
        if hot {
            make_hot!(lock);
        }
        let reading = lock.read();
        thread::scope(|threads| {
            let (tell, told) = channel();
            let lock = &lock;
            let writer = threads.spawn(move || {
                tell.send(own_id()).unwrap();
                *lock.write() += 1;
            });
            await_sleep(told.recv().unwrap());
            threads
                .spawn(|| {
                    assert_eq!(*lock.read_recursive(), 0);
                    assert!(lock.try_read_recursive().is_some());
                    assert!(lock.try_read_recursive_for(Duration::ZERO).is_some());
                })
                .join()
                .unwrap();
            drop(reading);
            writer.join().unwrap();
        });
    }
}

#[test]
fn a_static_needs_no_start() {
    static COUNT: readmost::RwLock<u32> = readmost::RwLock::new(7);
    *COUNT.write() += 1;
    assert_eq!(*COUNT.read(), 8);
}

#[test]
fn a_lock_is_a_pointer_beside_its_data() {
    assert_eq!(std::mem::size_of::<readmost::RawRwLock>(), 8);
    assert_eq!(std::mem::size_of::<readmost::RwLock<u64>>(), 16);
}

#[test]
fn auto_traits() {
    fn both<T: Send + Sync>() {}
    both::<readmost::RwLock<Vec<u8>>>();
    fn sync<T: Sync>() {}
    sync::<readmost::RwLockReadGuard<'static, Vec<u8>>>();
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(readmost::version(), env!("CARGO_PKG_VERSION"));
}

#[cfg(feature = "arc_lock")]
#[test]
fn a_guard_may_keep_the_lock_alive() {
    let lock = Arc::new(readmost::RwLock::new(1));
    let guard = lock.read_arc();
    drop(lock);
    assert_eq!(*guard, 1);
}
// SPDX-License-Identifier: Apache-2.0
