// SPDX-License-Identifier: Apache-2.0
// What the calibration takes for one instruction is one: it counts them.
#include "machine/single_instructions.hpp"

#include <gtest/gtest.h>

#include "support/single_step.hpp"

namespace readmost::command {
namespace {

constexpr std::size_t times = 64;

[[gnu::noinline]] void nothing() {
  asm volatile("");
}

// Of the code of this program; the call of the body counts too.
std::size_t instructions_of(void (*body)()) {
  return test::step_through(test::code_around(&nothing), body, [](std::size_t) { return true; });
}

// Of each of many in a row.
template <auto Operation>
double instructions_of_each() {
  const std::size_t around = instructions_of([] { asm volatile(""); });
  const std::size_t all = instructions_of([] {
#pragma GCC unroll 64
    for (std::size_t i = 0; i < times; ++i) Operation();
  });
  return static_cast<double>(all - around) / times;
}

class single_instructions : public testing::Test {
 protected:
  void SetUp() override {
    if (!CAN_STEP || !test::steps_are_exact || UNDER_ADDRESS_SANITIZER) {
      GTEST_SKIP() << "instructions cannot be counted here";
    }
  }
};

TEST_F(single_instructions, are_one) {
  EXPECT_EQ(instructions_of_each<load>(), 1);
  EXPECT_EQ(instructions_of_each<store>(), 1);
  EXPECT_EQ(instructions_of_each<change>(), 1);
}

TEST_F(single_instructions, are_three_with_a_test_and_a_branch) {
  EXPECT_EQ(instructions_of_each<tested_load_of_changed>(), 3);
}

// Nine registers are set beside.
TEST_F(single_instructions, are_as_many_as_are_mixed) {
  const double counted = instructions_of_each<mixed>();
  EXPECT_GE(counted, mixed_instructions);
  EXPECT_LE(counted, mixed_instructions + 12);
}

}  // namespace
}  // namespace readmost::command
