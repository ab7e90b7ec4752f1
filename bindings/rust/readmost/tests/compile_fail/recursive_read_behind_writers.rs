//! Where writers are preferred a read lock does not pass a waiting writer because another thread
//! reads.
fn main() {
    let lock = readmost::RwLock::new(0);
    let _guard = lock.read_recursive();
}
// SPDX-License-Identifier: Apache-2.0
