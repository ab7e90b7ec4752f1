//! A section belongs to its thread.
fn main() {
    let section = readmost::rcu::section();
    std::thread::scope(|threads| {
        threads.spawn(move || drop(section));
    });
}
// SPDX-License-Identifier: Apache-2.0
