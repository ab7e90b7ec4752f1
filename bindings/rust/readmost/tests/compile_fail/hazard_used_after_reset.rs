//! What is protected may be used until the hazard pointer is reset.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let mut hazard = readmost::HazardPointer::new();
    let value = hazard.protect(&cell);
    hazard.reset();
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
