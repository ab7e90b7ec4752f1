// SPDX-License-Identifier: Apache-2.0
// The model's formulas against values computed by hand.
#include "simulation/advice/breakeven_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace readmost::simulation {
namespace {

constexpr synchronization_costs round_costs{10, 100, 1, 5, 50, 120, 0.8};

TEST(breakeven_model, has_a_spinlock_that_wanders) {
  EXPECT_DOUBLE_EQ(cost_under_spinlock(round_costs, 1), 10);
  EXPECT_DOUBLE_EQ(cost_under_spinlock(round_costs, 2), 60);
  EXPECT_DOUBLE_EQ(cost_under_spinlock(round_costs, 4), 85);
}

TEST(breakeven_model, has_a_brlock_whose_writer_takes_all) {
  EXPECT_DOUBLE_EQ(cost_under_brlock(round_costs, 1, 1), 10);  // the own lock only
  EXPECT_DOUBLE_EQ(cost_under_brlock(round_costs, 4, 0), 10);  // readers move nothing
  // 2 CPUs, all updates: each lock was taken last by the other CPU every other time.
  EXPECT_DOUBLE_EQ(cost_under_brlock(round_costs, 2, 1), 2 * 60);
  // 3 CPUs, half of all: own 10 + 100 * 1 / 2, two others at 10 + 100 * (1 - 0.5 / 2), half the
  // time.
  EXPECT_DOUBLE_EQ(cost_under_brlock(round_costs, 3, 0.5), 60 + 0.5 * 2 * 85);
}

TEST(breakeven_model, has_updates_that_share_grace_periods) {
  EXPECT_DOUBLE_EQ(cost_under_rcu(round_costs, 4, 0, 10), 1);
  // One CPU, 10 updates in each: 10 + 5 + 50 * (1 - exp(-10)) / 10.
  EXPECT_NEAR(cost_under_rcu(round_costs, 1, 1, 10), 19.999773, 1e-6);
  // 4 CPUs, an update in each grace period: 85 + 5 + 650 * (1 - exp(-1)), once in four accesses.
  EXPECT_NEAR(cost_under_rcu(round_costs, 4, 0.25, 0.25), 0.75 + 0.25 * 500.878367, 1e-5);
  // Hardly any: each bears one of its own.
  EXPECT_NEAR(cost_under_rcu(round_costs, 4, 1, 1e-9), 85 + 5 + 650, 1e-3);
}

TEST(breakeven_model, finds_where_two_lines_meet) {
  const auto flat = [](double) { return 10.0; };
  EXPECT_NEAR(breakeven([](double f) { return 1 + 90 * f; }, flat), 0.1, 1e-8);
  EXPECT_NEAR(breakeven([](double f) { return 1 + 9e4 * f; }, flat), 1e-4, 1e-8);
  EXPECT_EQ(breakeven([](double) { return 11.0; }, flat), 0);
  EXPECT_EQ(breakeven([](double) { return 9.0; }, flat), 1);
  // The first time, not the last.
  EXPECT_NEAR(breakeven([](double f) { return f < 0.3 || f > 0.6 ? 9.0 : 11.0; }, flat), 0.3, 1e-8);
}

TEST(breakeven_model, has_transfers_that_take_longer) {
  const synchronization_costs slow = with_transfers(round_costs, 3);
  EXPECT_DOUBLE_EQ(slow.local, 10);
  EXPECT_DOUBLE_EQ(slow.transfer, 300);
  EXPECT_DOUBLE_EQ(slow.grace, 50);
  EXPECT_DOUBLE_EQ(cost_under_spinlock(slow, 2), 160);
  // Each further CPU costs 120 + 0.8 * 300.
  EXPECT_NEAR(cost_under_rcu(slow, 2, 1, 1e-9), 160 + 5 + 50 + 360, 1e-3);
}

// The paper's statements about its figures, for its machine.
double region(double cpus, double rate, double times = 1) {
  return breakeven_of("RCU over both", with_transfers(pentium_costs(), times), cpus, rate);
}

TEST(breakeven_model, has_the_shape_of_figure_28) {
  // Few updates: RCU's region shrinks up to about 10 CPUs.
  EXPECT_GT(region(2, 0.1), region(4, 0.1));
  EXPECT_GT(region(4, 0.1), region(8, 0.1));
  // There the paper's begins to grow. By these formulas it only stops shrinking, since a grace
  // period asks every CPU.
  EXPECT_GT(region(8, 0.1), 1.1 * region(10, 0.1));
  EXPECT_LT(region(30, 0.1), 1.1 * region(1000, 0.1));
  EXPECT_GT(region(30, 0.1), region(1000, 0.1));
  // Many: it grows, and nearly everything is its own.
  EXPECT_LT(region(2, 10), region(16, 10));
  EXPECT_LT(region(16, 10), region(1000, 10));
  EXPECT_TRUE(
      std::ranges::is_sorted(contour_cpus, {}, [](double cpus) { return region(cpus, 10); }));
}

TEST(breakeven_model, has_the_shape_of_figure_29) {
  EXPECT_GT(region(4, 0.1, 1), region(4, 0.1, 10));
  EXPECT_LT(region(4, 10, 1), region(4, 10, 10));
}

}  // namespace
}  // namespace readmost::simulation
