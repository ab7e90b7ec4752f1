// SPDX-License-Identifier: Apache-2.0
// A library must define something; the tests check only whether this one is mapped.
extern "C" int readmost_command_test_library() {
  return 0;
}
