//! Readers share the value.
fn main() {
    let _ = readmost::Rcu::new(std::cell::Cell::new(1));
}
// SPDX-License-Identifier: Apache-2.0
