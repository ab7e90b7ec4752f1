//! The library notes a hold in the record of the thread that took it.
fn main() {
    let lock = readmost::RwLock::new(0);
    let guard = lock.read();
    std::thread::scope(|threads| {
        threads.spawn(move || drop(guard));
    });
}
// SPDX-License-Identifier: Apache-2.0
