// SPDX-License-Identifier: Apache-2.0
// The contours of a simulated machine, and their plot.
#include "simulation/advice/contours.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace readmost::simulation {
namespace {

machine_description tiny() {
  std::ifstream in(TINY);
  std::stringstream text;
  text << in.rdbuf();
  return machine_from(text.str(), TINY);
}

constexpr synchronization_costs round_costs{10, 100, 1, 5, 50, 120, 0.8};

TEST(contours, have_the_costs_of_the_machine) {
  const machine_description on = tiny();
  const synchronization_costs costs = costs_of(on, 1);
  EXPECT_DOUBLE_EQ(costs.local, on.cycles(on.hit + on.atomic + on.store));
  EXPECT_GT(costs.transfer, on.cycles(on.transfer[1]));
  EXPECT_LE(costs.transfer, on.cycles(on.transfer[distances - 1]));
  // A section executes no read-modify-write, and a grace period asks each reader.
  EXPECT_GT(costs.read, 0);
  EXPECT_LT(costs.read, on.cycles(on.atomic));
  EXPECT_GT(costs.retire, 0);
  EXPECT_GT(costs.grace, costs.read);
  EXPECT_GT(costs.grace_work + costs.grace_lines, 0);
}

TEST(contours, are_those_of_the_model) {
  const contour_set made = contours_of(tiny(), round_costs);
  ASSERT_EQ(made.plots.size(), 4);
  for (const contour_plot& each : made.plots) ASSERT_EQ(each.contours.size(), 4) << each.title;
  const contour& by_cpus = made.plots[1].contours[0];
  EXPECT_EQ(by_cpus.name, "RCU over both");
  for (const auto& [cpus, share] : by_cpus.points) {
    EXPECT_DOUBLE_EQ(share, breakeven_of("RCU over both", round_costs, cpus, 10)) << cpus;
  }
  // By latency, with the machine's own CPUs.
  const contour& by_latency = made.plots[2].contours[2];
  for (const auto& [times, share] : by_latency.points) {
    EXPECT_DOUBLE_EQ(share, breakeven_of("RCU over brlock", with_transfers(round_costs, times),
                                         tiny().cpus(), 0.1))
        << times;
  }
  EXPECT_DOUBLE_EQ(region_of_rcu(made, 10),
                   breakeven_of("RCU over both", round_costs, tiny().cpus(), 10));
}

TEST(contours, are_drawn_with_the_locks_of_the_program) {
  contour_set made = contours_of(tiny(), round_costs);
  made.marks.push_back({"cache<int>::lock & more", 8, 0.25});
  const std::string svg = as_svg(made);
  EXPECT_NE(svg.find("cache&lt;int&gt;::lock &amp; more"), std::string::npos);
  EXPECT_EQ(svg.find("<int>"), std::string::npos);
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++circles;
  EXPECT_EQ(circles, 2);  // in the plots by CPUs
  const nlohmann::json found = as_json(made);
  EXPECT_EQ(found["locks"][0]["share"], 0.25);
  EXPECT_EQ(found["plots"][0]["curves"][0]["points"].size(), std::size(contour_cpus));
}

}  // namespace
}  // namespace readmost::simulation
