//! What an update shows is protected during the call alone.
fn main() {
    let cell = readmost::HazardCell::new(String::new());
    let mut hazard = readmost::HazardPointer::new();
    let mut kept = None;
    cell.update(&mut hazard, |old| {
        kept = old;
        None
    });
    println!("{kept:?}");
}
// SPDX-License-Identifier: Apache-2.0
