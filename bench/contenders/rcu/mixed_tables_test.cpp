// SPDX-License-Identifier: Apache-2.0
// A table that loses elements or finds deleted ones is fast: checks each table as wrapped here.
#include "contenders/rcu/mixed_tables.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "contenders/rcu/mixed_table_of.hpp"

namespace {

// Few, so that threads collide.
constexpr std::size_t buckets = 4;

// Lets the threads use the table until each has done enough.
bench::mixed_result used_by(bench::mixed_table& table, unsigned threads, double updates) {
  constexpr std::uint64_t enough = 50'000;
  std::atomic<bool> stopped{false};
  std::vector<std::atomic<std::uint64_t>> done(threads);
  std::vector<bench::mixed_result> results(threads);
  std::vector<std::thread> users;
  for (unsigned i = 0; i < threads; ++i) {
    users.emplace_back([&, i] { results[i] = table.use(stopped, i, updates, done[i]); });
  }
  for (const auto& one : done) {
    while (one < enough) std::this_thread::yield();
  }
  stopped = true;
  for (std::thread& user : users) user.join();
  bench::mixed_result sum;
  for (unsigned i = 0; i < threads; ++i) {
    EXPECT_EQ(results[i].searches + results[i].updates, done[i].load());
    sum.searches += results[i].searches;
    sum.updates += results[i].updates;
    sum.misses += results[i].misses;
    sum.wrong += results[i].wrong;
  }
  return sum;
}

TEST(mixed_tables, find_every_key_without_updates) {
  for (const auto& maker : bench::all_mixed_tables()) {
    const auto table = maker.make(buckets);
    const bench::mixed_result result = used_by(*table, maker.single_threaded ? 1 : 2, 0);
    EXPECT_EQ(result.misses, 0U) << maker.name;
    EXPECT_EQ(result.wrong, 0U) << maker.name;
    EXPECT_EQ(result.updates, 0U) << maker.name;
    EXPECT_EQ(table->fault(), "") << maker.name;
  }
}

TEST(mixed_tables, are_whole_after_updates_in_any_mix) {
  for (const auto& maker : bench::all_mixed_tables()) {
    const auto table = maker.make(buckets);
    for (const double updates : {0.1, 0.5, 1.0}) {
      const bench::mixed_result result = used_by(*table, maker.single_threaded ? 1 : 4, updates);
      table->settle();
      EXPECT_EQ(result.wrong, 0U) << maker.name;
      EXPECT_EQ(table->fault(), "") << maker.name;
      if (maker.single_threaded) {
        EXPECT_EQ(result.misses, 0U) << maker.name;
      }
      const double share = static_cast<double>(result.updates) /
                           static_cast<double>(result.updates + result.searches);
      EXPECT_NEAR(share, updates, 0.1 * updates) << maker.name;
    }
  }
}

using plain_element = bench::element<bench::no_base>;

TEST(chains, keep_several_elements_of_a_bucket) {
  bench::chains<plain_element> table(2);
  EXPECT_EQ(table.fault(), "");
  table.put_in(*new plain_element(2));  // in bucket 0, before key 0
  table.put_in(*new plain_element(4));
  EXPECT_NE(table.fault(), "");
  for (const std::uint64_t key : {0U, 2U, 4U}) ASSERT_NE(table.find(key), nullptr) << key;
  EXPECT_EQ(table.find(6), nullptr);

  plain_element* const middle = table.take_out(2);
  ASSERT_NE(middle, nullptr);
  EXPECT_EQ(middle->next.load(), table.find(0));  // a reader at this element goes on
  EXPECT_EQ(table.find(2), nullptr);
  EXPECT_NE(table.find(0), nullptr);
  delete middle;
  plain_element* const first = table.take_out(4, bench::taken_out::ends_in_loop);
  EXPECT_EQ(first->next.load(), first);
  delete first;
  EXPECT_EQ(table.take_out(4), nullptr);
  EXPECT_EQ(table.fault(), "");
}

TEST(chains, tell_what_is_wrong) {
  bench::chains<plain_element> table(4);
  delete table.take_out(3);
  EXPECT_EQ(table.fault(), "no element in bucket 3");
  table.put_in(*new plain_element(7));
  EXPECT_EQ(table.fault(), "a wrong element in bucket 3");
  delete table.take_out(7);
  table.put_in(*new plain_element(3));
  EXPECT_EQ(table.fault(), "");
  table.find(1)->content = 0;  // as if destroyed
  EXPECT_EQ(table.fault(), "a wrong element in bucket 1");
}

TEST(run_lengths, have_the_mean_that_gives_the_share) {
  for (const double updates : {0.01, 0.1, 0.5, 0.9}) {
    bench::run_lengths runs(updates, 1);
    double searches = 0;
    constexpr int draws = 4096;
    for (int i = 0; i < draws; ++i) searches += static_cast<double>(runs.next());
    EXPECT_NEAR(draws / (draws + searches), updates, 0.06 * updates);
  }
  EXPECT_EQ(bench::run_lengths(1, 1).next(), 0U);
  EXPECT_EQ(bench::run_lengths(0, 1).next(), bench::run_lengths::endless);
}

}  // namespace
