//! Another thread cannot load under this thread's section.
fn main() {
    let cell = readmost::Rcu::new(1);
    let section = readmost::rcu::section();
    std::thread::scope(|threads| {
        threads.spawn(|| *cell.load(&section));
    });
}
// SPDX-License-Identifier: Apache-2.0
