//! What is protected may be used until the hazard pointer goes.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let value = readmost::HazardPointer::new().protect(&cell);
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
