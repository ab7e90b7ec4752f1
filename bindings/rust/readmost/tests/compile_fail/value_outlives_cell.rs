//! The present value is dropped with the cell.
fn main() {
    let section = readmost::rcu::section();
    let cell = readmost::Rcu::new(String::new());
    let value = cell.load(&section);
    drop(cell);
    println!("{value}");
}
// SPDX-License-Identifier: Apache-2.0
