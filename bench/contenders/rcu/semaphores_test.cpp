// SPDX-License-Identifier: Apache-2.0
// Checks that semaphores lose no operation while others are created and removed.
#include "contenders/rcu/semaphores.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

TEST(semaphores, have_the_lowest_free_number) {
  for (const auto& maker : bench::all_semaphore_sets()) {
    const auto set = maker.make();
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(set->create(), i) << maker.name;
    EXPECT_EQ(set->remove(39), 0U) << maker.name;
    EXPECT_EQ(set->remove(7), 0U) << maker.name;
    EXPECT_EQ(set->create(), 7U) << maker.name;
    EXPECT_EQ(set->create(), 39U) << maker.name;
    for (std::size_t i = 10; i < 40; ++i) set->remove(i);
    EXPECT_GE(set->capacity(), 40U) << maker.name;
    set->trim();
    EXPECT_EQ(set->capacity(), 16U) << maker.name;
    EXPECT_EQ(set->create(), 10U) << maker.name;
    set->settle();
  }
}

TEST(semaphores, count_every_operation_while_others_come_and_go) {
  constexpr std::size_t lasting = 8;
  constexpr std::size_t passing = 24;
  for (const auto& maker : bench::all_semaphore_sets()) {
    const auto set = maker.make();
    for (std::size_t i = 0; i < lasting; ++i) set->create();
    std::atomic<bool> stopped{false};
    std::vector<std::atomic<std::uint64_t>> done(2);
    std::vector<bench::semaphore_result> results(done.size());
    std::vector<std::thread> users;
    for (std::size_t i = 0; i < done.size(); ++i) {
      users.emplace_back([&, i] { results[i] = set->use(stopped, i, lasting + passing, done[i]); });
    }
    std::uint64_t counted = 0;
    for (int round = 0; round < 10 || done[0] < 5'000 || done[1] < 5'000; ++round) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = 0; i < passing; ++i) numbers.push_back(set->create());
      std::this_thread::yield();
      for (const std::size_t number : numbers) counted += set->remove(number);
      set->trim();
    }
    // On one CPU the users may have run only while all were there.
    const std::uint64_t before = done[0];
    while (done[0] < before + 1'000) std::this_thread::yield();
    stopped = true;
    for (std::thread& user : users) user.join();
    for (std::size_t i = 0; i < lasting; ++i) counted += set->remove(i);
    EXPECT_EQ(counted, results[0].operations + results[1].operations) << maker.name;
    EXPECT_EQ(results[0].operations + results[0].missing, done[0]) << maker.name;
    EXPECT_GT(results[0].missing, 0U) << maker.name;
    set->settle();
  }
}

}  // namespace
