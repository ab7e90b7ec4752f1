//! A hazard pointer that protects something cannot move to another thread.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let mut hazard = readmost::HazardPointer::new();
    let value = hazard.protect(&cell);
    std::thread::spawn(move || drop(hazard));
    println!("{value:?}");
}
// SPDX-License-Identifier: Apache-2.0
