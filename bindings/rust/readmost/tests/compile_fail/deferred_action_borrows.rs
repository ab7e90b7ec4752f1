//! Deferred actions run at any time later.
fn main() {
    let text = String::from("of this function");
    readmost::rcu::defer(|| println!("{text}"));
}
// SPDX-License-Identifier: Apache-2.0
