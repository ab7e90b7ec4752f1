//! What is loaded may be used until the section ends.
fn main() {
    let cell = readmost::Rcu::new(String::new());
    let section = readmost::rcu::section();
    let value = cell.load(&section);
    drop(section);
    println!("{value}");
}
// SPDX-License-Identifier: Apache-2.0
