// SPDX-License-Identifier: Apache-2.0
// The costs that the model takes from this machine.
#include "rcu/rcu_costs.hpp"

#include <gtest/gtest.h>

namespace {

TEST(rcu_costs, are_measured) {
  const bench::synchronization_costs here = bench::measure_synchronization({5});
  EXPECT_GT(here.local, 0);
  EXPECT_GT(here.read, 0);
  EXPECT_GT(here.retire, 0);
  EXPECT_GT(here.grace, here.read);
}

}  // namespace
