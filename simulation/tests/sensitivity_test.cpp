// SPDX-License-Identifier: Apache-2.0
// Variations of a machine, and what they say about an order.
#include "simulation/sensitivity.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace readmost::simulation {
namespace {

TEST(variations, change_one_latency_each_and_nothing_else) {
  const machine_description tiny = find_machine(TINY);
  const std::vector<variation> all = variations_of(tiny, 25);
  ASSERT_GT(all.size(), 20U);
  EXPECT_EQ(all.front().name, "");
  const auto changes = [&](const machine_description& machine) {
    std::vector<std::string> names;
    machine_description as_it_was = tiny;
    machine_description now = machine;
    for_each_time(as_it_was, [&](const std::string& name, const duration& before) {
      for_each_time(now, [&](const std::string& each, const duration& time) {
        if (each != name || time == before) return;
        const double factor = static_cast<double>(time) / static_cast<double>(before);
        EXPECT_NEAR(factor, time < before ? 0.75 : 1.25, 0.01);
        names.push_back(name + (time < before ? " -25%" : " +25%"));
      });
    });
    return names;
  };
  EXPECT_TRUE(changes(all.front().machine).empty());
  const std::size_t latencies = all.size() - 3;
  for (std::size_t i = 1; i < latencies; ++i) {
    EXPECT_EQ(changes(all[i].machine), std::vector<std::string>{all[i].name});
    EXPECT_EQ(all[i].machine.transfer[0], all[i].machine.hit);
  }
}

TEST(variations, change_what_is_no_latency_at_last) {
  const machine_description tiny = find_machine(TINY);
  std::vector<variation> all = variations_of(tiny, 25);
  EXPECT_EQ(all[all.size() - 3].name, "kept -25%");
  EXPECT_DOUBLE_EQ(all[all.size() - 3].machine.kept, tiny.kept * 0.75);
  EXPECT_EQ(all[all.size() - 2].name, "kept +25%");
  EXPECT_DOUBLE_EQ(all[all.size() - 2].machine.kept, tiny.kept * 1.25);
  EXPECT_EQ(all.back().name, "spread 0.1");
  EXPECT_DOUBLE_EQ(all.back().machine.spread, 0.1);
  all = variations_of(all.back().machine, 25);
  EXPECT_EQ(all.back().name, "spread 0");
  EXPECT_DOUBLE_EQ(all.back().machine.spread, 0);
}

TEST(variations, are_of_latencies_that_the_machine_has) {
  machine_description on = find_machine(TINY);
  on.sockets = 1;
  on.relax = 0;
  for (const variation& each : variations_of(on, 30)) {
    EXPECT_EQ(each.name.find("other_socket"), std::string::npos);
    EXPECT_EQ(each.name.find("relax"), std::string::npos);
    EXPECT_EQ(each.name.find("slice"), std::string::npos);
  }
}

std::vector<std::string> names_of(const ranking& found) {
  std::vector<std::string> names;
  for (const standing& each : found.order) names.push_back(each.name);
  return names;
}

TEST(ranking, has_the_order_on_the_machine_as_it_is_and_what_turns) {
  const std::vector<standing> all{{"slow", {1, 1, 1}}, {"fast", {9, 9, 9}}, {"wild", {5, 0.5, 5}}};
  const ranking more = rank(all, true);
  EXPECT_EQ(names_of(more), (std::vector<std::string>{"fast", "wild", "slow"}));
  ASSERT_EQ(more.open.size(), 1U);
  EXPECT_EQ(more.open[0].first, "wild");
  EXPECT_EQ(more.open[0].second, "slow");
  EXPECT_EQ(more.open[0].variation, 1U);
  EXPECT_EQ(names_of(rank(all, false)), (std::vector<std::string>{"slow", "wild", "fast"}));
}

TEST(ranking, leaves_open_what_is_equal) {
  EXPECT_EQ(rank({{"one", {2}}, {"two", {2}}}, true).open.size(), 1U);
}

}  // namespace
}  // namespace readmost::simulation
