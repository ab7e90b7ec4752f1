//! Nor can it change places with another one.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let mut hazard = readmost::HazardPointer::new();
    let mut other = readmost::HazardPointer::new();
    let value = hazard.protect(&cell);
    std::mem::swap(&mut hazard, &mut other);
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
