//! An update uses the hazard pointer.
fn main() {
    let cell = readmost::HazardCell::new(1);
    let mut hazard = readmost::HazardPointer::new();
    let value = hazard.protect(&cell);
    cell.update(&mut hazard, |old| old.map(|old| old + 1));
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
