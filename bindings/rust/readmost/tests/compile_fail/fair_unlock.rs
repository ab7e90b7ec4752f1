//! No preference gives a waiting thread the lock ahead of each newcomer.
fn main() {
    let lock = readmost::FairRwLock::new(0);
    readmost::FairRwLockReadGuard::unlock_fair(lock.read());
}
// SPDX-License-Identifier: Apache-2.0
