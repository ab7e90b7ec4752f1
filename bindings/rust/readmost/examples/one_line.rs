// SPDX-License-Identifier: Apache-2.0
//! A service's table of routes under a reader-writer lock, as one finds it in programs that use
//! parking_lot: the lock is imported in one line, and that line is the change.
//!
//!     cargo run --release --example one_line
//!
//! `benches/benches/locks.rs` measures both.

// Was: use parking_lot::RwLock;
use readmost::RwLock;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::LazyLock;
use std::thread;

static ROUTES: LazyLock<RwLock<HashMap<String, String>>> = LazyLock::new(|| {
    let routes = [("/", "index"), ("/about", "about"), ("/status", "status")];
    RwLock::new(routes.map(|(path, page)| (path.to_string(), page.to_string())).into())
});

fn page_of(path: &str) -> Option<String> {
    ROUTES.read().get(path).cloned()
}

fn add_route(path: &str, page: &str) {
    ROUTES.write().insert(path.to_string(), page.to_string());
}

/// Adds a route unless there is one, as parking_lot's upgradable locks do it.
fn add_if_missing(path: &str, page: &str) -> bool {
    let routes = ROUTES.upgradable_read();
    if routes.contains_key(path) {
        return false;
    }
    let mut routes = readmost::RwLockUpgradableReadGuard::upgrade(routes);
    routes.insert(path.to_string(), page.to_string());
    true
}

fn main() {
    let served = AtomicU64::new(0);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for request in 0..100_000 {
                    let path = if request % 2 == 0 { "/" } else { "/status" };
                    served.fetch_add(u64::from(page_of(path).is_some()), Ordering::Relaxed);
                }
            });
        }
        add_route("/help", "help");
        assert!(add_if_missing("/news", "news"));
        assert!(!add_if_missing("/", "start"));
    });
    println!("{} requests served, {} routes", served.into_inner(), ROUTES.read().len());
}
