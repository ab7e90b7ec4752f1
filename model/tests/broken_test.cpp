// SPDX-License-Identifier: Apache-2.0
// Algorithms that are known to be wrong fail as they should, under the models where they should,
// and under no other.
#include <gtest/gtest.h>

#include <ostream>

#include "catalogue.hpp"

namespace readmost::model {

void PrintTo(const named_scenario& scenario, std::ostream* to) {
  *to << scenario.proves;
}

namespace {

std::vector<named_scenario> broken_scenarios() {
  std::vector<named_scenario> broken;
  for (const named_scenario& each : catalogue()) {
    if (each.defect != violation_kind::none) broken.push_back(each);
  }
  return broken;
}

class broken : public testing::TestWithParam<named_scenario> {};

TEST_P(broken, fails_exactly_where_it_should) {
  const named_scenario& which = GetParam();
  for (const memory_model memory : memory_models) {
    const bool to_fail = which.fails_under_model(memory);
    const result of = explore(which.describe, usual_exploration(which, memory));
    EXPECT_EQ(of.failed, to_fail) << name_of(memory);
    if (of.failed) {
      EXPECT_STREQ(name_of(of.found.what.kind), name_of(which.defect)) << of.found.what.what;
    } else {
      EXPECT_TRUE(of.complete) << name_of(memory);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(of_the_catalogue, broken, testing::ValuesIn(broken_scenarios()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace

}  // namespace readmost::model
