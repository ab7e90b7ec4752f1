//! Programs that must not compile, with what rustc 1.95 says of them; `TRYBUILD=overwrite` records
//! what another version says.

#[test]
fn compile_fail() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
// SPDX-License-Identifier: Apache-2.0
