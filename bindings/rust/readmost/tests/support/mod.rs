//! What the tests of values that are dropped later share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// A value whose drop is noticed.
#[derive(Debug)]
pub struct Counted {
    pub number: u64,
    pub twin: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    pub fn new(number: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { number, twin: number, alive: Arc::clone(alive) }
    }

    pub fn check(&self) -> u64 {
        assert_eq!(self.number, self.twin);
        self.number
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.number = u64::MAX;
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

pub fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

/// Runs the test `name` of this program again, with the variable set; returns whether it was
/// aborted, and what it said.
pub fn run_again(name: &str, variable: &str) -> (bool, String) {
    use std::os::unix::process::ExitStatusExt;
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(variable, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.signal() == Some(libc::SIGABRT), text)
}
// SPDX-License-Identifier: Apache-2.0
