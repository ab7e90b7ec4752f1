//! What is found may be used until the section ends.
fn main() {
    let map = readmost::RcuHashMap::new();
    map.insert(1, String::new());
    let value = map.get(&1, &readmost::rcu::section()).unwrap();
    println!("{value}");
}
// SPDX-License-Identifier: Apache-2.0
