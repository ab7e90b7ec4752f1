//! Readers share the value.
fn take(_: readmost::HazardCell<std::cell::Cell<i32>>) {}
fn main() {
    let _ = take;
}
// SPDX-License-Identifier: Apache-2.0
