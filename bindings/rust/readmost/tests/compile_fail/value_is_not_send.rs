//! Old values are dropped by a thread of the library.
fn main() {
    let _ = readmost::Rcu::new(std::rc::Rc::new(1));
}
// SPDX-License-Identifier: Apache-2.0
