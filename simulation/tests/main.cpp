// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "simulation/command/fixed_addresses.hpp"

int main(int argc, char** argv) {
  readmost::simulation::fix_addresses(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
