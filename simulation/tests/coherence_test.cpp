// SPDX-License-Identifier: Apache-2.0
// What accesses of cache lines cost, and that each line has one owner.
#include "simulation/coherence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace readmost::simulation {
namespace {

// Two packages of two CPUs.
machine_description small_machine() {
  machine_description made;
  made.sockets = 2;
  made.cores_per_cluster = 2;
  made.hit = 2;
  made.transfer[0] = 2;
  made.transfer[1] = 10;
  made.transfer[2] = 60;
  made.transfer[3] = 100;
  made.transfer[4] = 300;
  made.memory = 200;
  made.share_more = 7;
  return made;
}

constexpr std::source_location somewhere{};

class coherence_of : public testing::Test {
 protected:
  instant read(unsigned cpu, instant now) { return lines.read(cpu, &variable, now, somewhere).end; }
  instant write(unsigned cpu, instant now) {
    return lines.write(cpu, &variable, now, on.hit, somewhere).end;
  }

  machine_description on = small_machine();
  coherence lines{on};
  alignas(64) int variable = 0;
};

TEST_F(coherence_of, a_line_comes_from_memory_then_hits) {
  EXPECT_EQ(read(0, 1000), 1200U);
  EXPECT_EQ(read(0, 1200), 1202U);
  EXPECT_EQ(write(0, 1202), 1204U) << "the only copy may be written";
}

TEST_F(coherence_of, a_transfer_takes_as_long_as_the_way_is) {
  write(0, 0);
  EXPECT_EQ(read(1, 1000), 1060U);
  write(0, 2000);
  EXPECT_EQ(read(2, 3000), 3300U);
}

TEST_F(coherence_of, a_write_waits_for_the_farthest_copy) {
  write(0, 0);
  read(1, 1000);
  read(2, 2000);
  EXPECT_EQ(write(1, 3000), 3000U + 300 + 7);
  EXPECT_FALSE(lines.has(0, &variable));
  EXPECT_FALSE(lines.has(2, &variable));
  EXPECT_TRUE(lines.owns(1, &variable));
}

TEST_F(coherence_of, requests_for_a_line_are_served_one_after_another) {
  write(0, 0);
  EXPECT_EQ(write(1, 1000), 1060U);
  EXPECT_EQ(write(0, 1040), 1120U) << "behind the first";
  EXPECT_EQ(write(2, 1041), 1420U) << "behind both";
}

TEST_F(coherence_of, reads_of_copies_do_not_wait_for_one_another) {
  write(0, 0);
  read(1, 1000);
  EXPECT_EQ(read(2, 2000), 2200U) << "from memory, which is nearer";
  EXPECT_EQ(read(3, 2000), 2060U) << "from the copy that is on its way beside it";
}

TEST_F(coherence_of, a_copy_that_was_asked_for_before_is_used_when_it_arrives) {
  write(0, 0);
  EXPECT_EQ(read(2, 1000), 1300U);
  EXPECT_EQ(read(2, 1100), 1302U);
  EXPECT_EQ(read(2, 1400), 1402U);
}

TEST_F(coherence_of, the_owner_goes_on_until_a_request_reaches_it) {
  write(0, 0);
  EXPECT_EQ(write(2, 1000), 1300U);
  EXPECT_EQ(write(0, 1100), 1102U);
  EXPECT_EQ(write(0, 1150), 1600U) << "the request has arrived: it has to ask for the line";
}

TEST_F(coherence_of, the_share_that_the_owner_keeps_is_the_machines) {
  on.kept = 0.1;
  write(0, 0);
  EXPECT_EQ(write(2, 1000), 1300U);
  EXPECT_EQ(write(0, 1029), 1031U);
  EXPECT_EQ(write(0, 1031), 1600U) << "after a tenth of the transfer";
}

TEST_F(coherence_of, transfers_differ_by_the_spread_of_the_machine) {
  on.spread = 0.1;
  instant now = 1'000;
  duration least = 1'000;
  duration most = 0;
  for (int i = 0; i < 1'000; ++i) {
    const duration took = write(i % 2 == 0 ? 2 : 0, now) - now;
    now += 1'000;
    if (i == 0) continue;  // from memory
    least = std::min(least, took);
    most = std::max(most, took);
  }
  EXPECT_GE(least, 270U);
  EXPECT_LT(least, 280U);
  EXPECT_GT(most, 320U);
  EXPECT_LE(most, 330U);
}

TEST_F(coherence_of, what_an_owner_keeps_differs_where_transfers_do) {
  on.spread = 0.1;
  on.kept = 0.2;
  instant now = 1'000;
  unsigned kept = 0;
  constexpr unsigned times = 1'000;
  for (unsigned i = 0; i < times; ++i, now += 2'000) {
    write(0, now);
    write(2, now + 1'000);
    // A fifth of the transfer has passed, which is the mean.
    const instant again = now + 1'000 + 60;
    if (write(0, again) == again + on.hit) ++kept;
  }
  EXPECT_GT(kept, times * 2 / 5);
  EXPECT_LT(kept, times * 3 / 5);
}

TEST_F(coherence_of, a_line_never_has_two_owners) {
  std::mt19937 random(1);
  instant now = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += random() % 100;
    const auto cpu = static_cast<unsigned>(random() % on.cpus());
    const instant end = random() % 3 == 0 ? read(cpu, now) : write(cpu, now);
    ASSERT_GT(end, now);
    ASSERT_EQ(lines.fault(), "");
  }
}

TEST_F(coherence_of, the_line_that_was_waited_for_longest_is_the_hottest) {
  alignas(64) int other = 0;
  write(0, 0);
  lines.read(0, &other, 0, somewhere);
  lines.reset_counts();
  write(2, 1000);
  const auto hot = lines.hottest(5);
  ASSERT_EQ(hot.size(), 1U);
  EXPECT_EQ(hot[0].transfers, 1U);
  EXPECT_EQ(hot[0].waited, 300U);
}

TEST_F(coherence_of, a_line_tells_which_places_waited_for_it) {
  const auto elsewhere = std::source_location::current();
  write(0, 0);
  lines.reset_counts();
  write(2, 1000);
  lines.write(0, &variable, 2000, on.hit, elsewhere);
  write(2, 3000);
  const auto hot = lines.hottest(1);
  ASSERT_EQ(hot.size(), 1U);
  ASSERT_EQ(hot[0].places.size(), 2U);
  EXPECT_EQ(hot[0].places[0].where.line(), somewhere.line());
  EXPECT_EQ(hot[0].places[0].transfers, 2U);
  EXPECT_EQ(hot[0].places[0].waited, 600U);
  EXPECT_EQ(hot[0].places[1].where.line(), elsewhere.line());
  EXPECT_EQ(hot[0].waited, 900U);
}

}  // namespace
}  // namespace readmost::simulation
