//! A hazard pointer protects one value at a time.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let mut hazard = readmost::HazardPointer::new();
    let first = hazard.protect(&cell);
    let second = hazard.protect(&cell);
    println!("{first:?} {second:?}");
}
// SPDX-License-Identifier: Apache-2.0
