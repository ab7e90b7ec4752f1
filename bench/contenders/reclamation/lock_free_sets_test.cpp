// SPDX-License-Identifier: Apache-2.0
// Checks each structure under each policy of reclamation.
#include "contenders/reclamation/lock_free_sets.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "contenders/reclamation/lock_free_set_of.hpp"
#include "contenders/reclamation/policies.hpp"
#include "contenders/reclamation/waiting_objects.hpp"

namespace {

using bench::set_result;

void add(set_result& sum, const set_result& more) {
  sum.inserted += more.inserted;
  sum.removed += more.removed;
  sum.sum += more.sum;
}

// Few keys, so that threads collide; changes alone, so that nodes are reclaimed while others read.
constexpr bench::set_workload collisions{16, 40, 40};

template <class Check>
void for_each_set(Check check) {
  for (const auto& policy : bench::all_reclamation_policies()) {
    for (const auto& structure : policy.structures) {
      SCOPED_TRACE(policy.name + ", " + structure.name);
      check(policy, structure);
    }
  }
}

TEST(lock_free_sets, have_the_keys_that_were_put_in) {
  for_each_set([](const auto&, const auto& structure) {
    const auto set = structure.make(100);
    set_result changes = set->fill(100);
    EXPECT_EQ(changes.inserted, 50U);
    EXPECT_EQ(changes.sum, 2500U);
    EXPECT_EQ(set->fault(changes), "");
    ++changes.sum;
    EXPECT_NE(set->fault(changes), "");
    --changes.sum;
    ++changes.removed;
    EXPECT_NE(set->fault(changes), "");
  });
}

TEST(lock_free_sets, are_whole_after_threads_have_changed_them) {
  for_each_set([](const auto&, const auto& structure) {
    constexpr std::uint64_t enough = 20'000;
    const auto before = bench::waiting_objects::number();
    const auto set = structure.make(collisions.range);
    set_result changes = set->fill(collisions.range);
    std::atomic<bool> stopped{false};
    std::vector<std::atomic<std::uint64_t>> done(3);
    std::vector<set_result> results(done.size());
    {
      std::vector<std::jthread> users;
      for (std::size_t i = 0; i < done.size(); ++i) {
        users.emplace_back([&, i] { results[i] = set->use(stopped, i, collisions, done[i]); });
      }
      for (const auto& each : done) {
        while (each < enough) std::this_thread::yield();
      }
      stopped = true;
    }
    for (const auto& each : results) add(changes, each);
    EXPECT_GT(changes.removed, 1000U);
    EXPECT_EQ(set->fault(changes), "");
    set->settle();
    EXPECT_EQ(bench::waiting_objects::number(), before) << "not all is reclaimed";
  });
}

TEST(lock_free_sets, a_stalled_reader_keeps_what_it_protects_or_all) {
  for_each_set([](const auto& policy, const auto& structure) {
    // More than hazard pointers keep, less than RCU's limit.
    constexpr std::int64_t many = 20'000;
    const auto set = structure.make(collisions.range);
    set_result changes = set->fill(collisions.range);
    std::atomic<bool> stopped{false};
    std::atomic<bool> inside{false};
    std::atomic<std::uint64_t> done{0};
    std::int64_t most = 0;
    {
      std::jthread reader([&] { set->stall(stopped, inside); });
      while (!inside) std::this_thread::yield();
      std::jthread user([&] { add(changes, set->use(stopped, 1, collisions, done)); });
      while (done < 10 * many && most < many) {
        most = std::max(most, bench::waiting_objects::number());
        std::this_thread::yield();
      }
      most = std::max(most, bench::waiting_objects::number());
      stopped = true;
    }
    EXPECT_EQ(most < many, policy.protects_each) << most;
    EXPECT_EQ(set->fault(changes), "");
    set->settle();
  });
}

// One thread, all orders of a few keys.
template <class Structure>
void expect_like_a_set(Structure& set) {
  typename Structure::thread me;
  for (unsigned order = 0; order < 64; ++order) {
    for (std::uint64_t key = 1; key <= 6; ++key) EXPECT_FALSE(set.contains(me, key));
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::uint64_t key = 1 + (i * 5 + order) % 6;
      EXPECT_TRUE(set.insert(me, key));
      EXPECT_FALSE(set.insert(me, key));
      EXPECT_TRUE(set.contains(me, key));
    }
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::uint64_t key = 1 + (i ^ (order % 4)) % 6;
      const bool there = set.contains(me, key);
      EXPECT_EQ(set.remove(me, key), there);
      EXPECT_FALSE(set.contains(me, key));
      EXPECT_FALSE(set.remove(me, key));
    }
    for (std::uint64_t key = 1; key <= 6; ++key) set.remove(me, key);
  }
}

TEST(lock_free_sets, answer_as_sets_do) {
  bench::lock_free_list<bench::by_epochs> list;
  expect_like_a_set(list);
  bench::lock_free_hash_map<bench::by_epochs> map(3);
  expect_like_a_set(map);
  bench::search_tree<bench::by_epochs> tree;
  expect_like_a_set(tree);
  bench::skip_list<bench::by_epochs> skips;
  expect_like_a_set(skips);
  bench::by_epochs::settle<bench::skip_node<bench::by_epochs>>();
  bench::by_epochs::settle<bench::list_node<bench::by_epochs>>();
  bench::by_epochs::settle<bench::tree_node<bench::by_epochs>>();
}

}  // namespace
