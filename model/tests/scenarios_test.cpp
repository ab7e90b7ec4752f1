// SPDX-License-Identifier: Apache-2.0
// Every scenario of the catalogue under every memory model, for a few seconds each at most. To the
// end: make model.
#include <gtest/gtest.h>

#include "catalogue.hpp"
#include "engine/report.hpp"

namespace readmost::model {
namespace {

struct trial {
  const named_scenario* which;
  memory_model memory;
};

void PrintTo(const trial& of, std::ostream* to) {
  *to << of.which->name << " under " << name_of(of.memory);
}

std::vector<trial> trials() {
  std::vector<trial> made;
  for (const named_scenario& each : catalogue()) {
    if (each.defect != violation_kind::none) continue;
    for (const memory_model memory : memory_models) {
      made.push_back({&each, memory});
    }
  }
  return made;
}

class scenarios : public testing::TestWithParam<trial> {};

TEST_P(scenarios, hold) {
  const auto [which, memory] = GetParam();
  exploration how = usual_exploration(*which, memory);
  how.time = std::chrono::milliseconds(150);
  const result of = explore(which->describe, how);
  EXPECT_FALSE(of.failed) << describe(of.found, which->name, memory);
  EXPECT_GT(of.executions, 0U);
}

INSTANTIATE_TEST_SUITE_P(all, scenarios, testing::ValuesIn(trials()),
                         [](const testing::TestParamInfo<trial>& of) {
                           return std::string(of.param.which->name) + "_" +
                                  name_of(of.param.memory);
                         });

}  // namespace
}  // namespace readmost::model
