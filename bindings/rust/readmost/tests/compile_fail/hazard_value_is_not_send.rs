//! Old values are dropped by any thread.
fn take(_: readmost::HazardCell<std::sync::MutexGuard<'static, i32>>) {}
fn main() {
    let _ = take;
}
// SPDX-License-Identifier: Apache-2.0
