//! The entries are dropped with the map.
fn main() {
    let section = readmost::rcu::section();
    let map = readmost::RcuHashMap::new();
    map.insert(1, String::new());
    let value = map.get(&1, &section);
    drop(map);
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
