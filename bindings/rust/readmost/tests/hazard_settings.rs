//! Who drops the values of `HazardCell`s, and when: for the whole process, so this is one test.

use readmost::hazard::{self, HazardCell, ReclaimBy};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

static DROPPED: AtomicUsize = AtomicUsize::new(0);
static DROPPED_HERE: Mutex<Vec<thread::ThreadId>> = Mutex::new(Vec::new());

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED_HERE.lock().unwrap().push(thread::current().id());
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn dropped() -> usize {
    DROPPED.load(Ordering::Relaxed)
}

#[test]
fn values_are_dropped_when_and_by_whom_the_program_says() {
    let cell = HazardCell::empty();
    let mut stored = 0;
    let mut store = |values: usize| {
        for _ in 0..values {
            cell.store(Counted);
        }
        stored += values;
        stored - 1
    };

    hazard::limit_backlog(1_000, u64::MAX, Duration::MAX);
    store(900);
    assert_eq!(dropped(), 0, "the limit is 1,000");
    let gone = store(10_000);
    assert!(gone - dropped() < 1_100, "{} wait", gone - dropped());
    hazard::clean_up();
    assert_eq!(dropped(), gone);

    hazard::reclaim_by(ReclaimBy::Request);
    let gone = store(5_000);
    assert!(dropped() <= gone - 5_000);
    hazard::clean_up();
    assert_eq!(dropped(), gone);

    hazard::reclaim_by(ReclaimBy::Background);
    hazard::limit_backlog(128, 1 << 20, Duration::from_millis(100));
    DROPPED_HERE.lock().unwrap().clear();
    let gone = store(5_000);
    let begin = Instant::now();
    while dropped() < gone {
        assert!(begin.elapsed() < Duration::from_secs(20), "no thread of the library drops them");
        thread::yield_now();
    }
    let here = thread::current().id();
    assert!(DROPPED_HERE.lock().unwrap().iter().all(|id| *id != here));

    hazard::reclaim_by(ReclaimBy::Writers);
    DROPPED_HERE.lock().unwrap().clear();
    store(5_000);
    assert!(DROPPED_HERE.lock().unwrap().contains(&here));
}
// SPDX-License-Identifier: Apache-2.0
