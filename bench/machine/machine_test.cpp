// SPDX-License-Identifier: Apache-2.0
// Bounds that measurements of any machine keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "harness/workers.hpp"
#include "machine/costs.hpp"
#include "machine/heartbeats.hpp"
#include "machine/pinned_thread.hpp"
#include "machine/receivers.hpp"
#include "machine/versions.hpp"

namespace {

constexpr bench::sample_count few{21};

TEST(machine_costs, are_in_order) {
  const double cycle = bench::cost_of_cycle(few);
  EXPECT_GT(cycle, 0.05);
  EXPECT_LT(cycle, 20);
  // Independent instructions overlap.
  EXPECT_LT(bench::cost_of_instruction(few), cycle);
  const bench::cache_sizes cache = bench::caches();
  EXPECT_LE(cache.first, cache.second);
  EXPECT_LE(cache.second, cache.last);
  const double near = bench::cost_of_load(cache.first / 2, few);
  EXPECT_GT(near, cycle);
  EXPECT_GT(bench::cost_of_load(16 * cache.second, few), near);
  EXPECT_GT(bench::cost_of_atomic_increment(few), cycle);
  EXPECT_GT(bench::cost_of_cmpxchg_increment(few), cycle);
  EXPECT_GT(bench::cost_of_fence(few), cycle);
  EXPECT_GT(bench::cost_of_local_lock(few), cycle);
}

TEST(machine_costs, of_transfers_are_above_those_at_home) {
  if (bench::own_cpus().size() < 2) GTEST_SKIP() << "there is one CPU only";
  const double at_home = bench::cost_of_atomic_increment(few);
  for (const auto what : {bench::transferred::increment, bench::transferred::blind,
                          bench::transferred::invalidating, bench::transferred::lock}) {
    EXPECT_GT(bench::cost_of_transfer(what, few).value(), at_home);
  }
}

TEST(receivers, answer_every_message) {
  bench::polling_threads polling(1);
  bench::sleeping_threads sleeping(2);
  bench::signalled_threads signalled(2);
  for (int i = 0; i < 20; ++i) {
    polling.send();
    sleeping.send();
    signalled.send();
  }
}

TEST(heartbeats, tell_who_has_stopped) {
  bench::heartbeats alive;
  auto& first = alive.add();
  auto& second = alive.add();
  first.beat();
  second.beat();
  EXPECT_TRUE(alive.all_alive());
  first.beat();
  EXPECT_FALSE(alive.all_alive());
  second.beat();
  first.beat();
  EXPECT_TRUE(alive.all_alive());
}

TEST(versions, are_seen_by_readers_that_leave_sections) {
  using namespace std::chrono_literals;
  const auto seen = bench::measure_versions(1, 0ns, 0ns, 50, 200ms);
  ASSERT_GE(seen.size(), 3U);
  for (const auto& one : seen) {
    if (one) {
      EXPECT_GT(*one, 0);
    }
  }
}

TEST(versions, leave_memory_stale_for_less_than_they_can_be_read_late) {
  using namespace std::chrono_literals;
  const auto found = bench::measure_memory(200, 1s);
  for (const double one : found.stale_ns) EXPECT_GT(one, 0);
  EXPECT_LE(found.stale_ns.size(), found.reads);
}

TEST(workers, are_counted) {
  const bench::workers working(
      2, [](const std::atomic<bool>& stopped, unsigned number, std::atomic<std::uint64_t>& done) {
        for (std::uint64_t i = 1; !stopped; ++i) {
          done = i;
          std::this_thread::sleep_for(std::chrono::microseconds(100 * (number + 1)));
        }
      });
  EXPECT_GT(working.done(), 1U);
  EXPECT_GT(working.per_second(std::chrono::milliseconds(20)), 0);
}

TEST(thread_counts, reach_from_one_to_twice_the_cpus) {
  const auto counts = bench::thread_counts();
  const unsigned cpus = readmost::detail::platform::usable_cpus();
  EXPECT_EQ(counts.front(), 1U);
  EXPECT_EQ(counts.back(), 2 * cpus);
  EXPECT_NE(std::find(counts.begin(), counts.end(), cpus), counts.end());
  EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
}

}  // namespace
