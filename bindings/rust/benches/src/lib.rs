// SPDX-License-Identifier: Apache-2.0
//! The harness of the benchmarks: threads that do one thing at the same time, and the time it takes
//! each of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Runs `work(thread, turns)` in so many threads, which begin together; returns the longest time that
/// one of them took. Divided by the turns, it is the time that a turn takes its thread.
pub fn together(threads: usize, turns: u64, work: impl Fn(usize, u64) + Sync) -> Duration {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|number| {
                let (start, work) = (&start, &work);
                scope.spawn(move || {
                    start.wait();
                    let begin = Instant::now();
                    work(number, turns);
                    begin.elapsed()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("no turn panics")).max()
    })
    .expect("there is at least one thread")
}

/// Runs `work(turns)` while another thread repeats `meanwhile`; returns the time that `work` took.
pub fn beside(meanwhile: impl Fn() + Sync, turns: u64, work: impl Fn(u64)) -> Duration {
    let done = AtomicBool::new(false);
    let start = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            while !done.load(Ordering::Relaxed) {
                meanwhile();
            }
        });
        start.wait();
        let begin = Instant::now();
        work(turns);
        let time = begin.elapsed();
        done.store(true, Ordering::Relaxed);
        time
    })
}
