//! Old values are dropped at any time later.
fn main() {
    let text = String::from("of this function");
    let cell = readmost::HazardCell::new(text.as_str());
    cell.store("");
}
// SPDX-License-Identifier: Apache-2.0
