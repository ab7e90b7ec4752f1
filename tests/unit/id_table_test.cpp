// SPDX-License-Identifier: Apache-2.0
// The table of objects that are found by id and have a lock each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <readmost/id_table.hpp>
#include <readmost/shared_mutex.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocation_limit.hpp"
#include "counted.hpp"
#include "support/helper_thread.hpp"

namespace {

using readmost::id_table;
using readmost::object_id;
using readmost::rcu_barrier;
using readmost::rcu_reader;
using test::allocation_limit;
using test::counted;
using test::helper_thread;

template <class Table>
std::vector<object_id> ids(const Table& in) {
  std::vector<object_id> all;
  in.for_each([&](object_id id, const auto&) { all.push_back(id); });
  return all;
}

// What a call throws, or "nothing".
template <class Call>
std::string length_error_of(Call call) {
  try {
    call();
  } catch (const std::length_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(id_table, finds_what_was_put_in) {
  id_table<std::string> table;
  EXPECT_TRUE(table.empty());
  const object_id one = table.emplace("one");
  const object_id two = table.insert(std::string("two"));
  EXPECT_NE(one, two);
  EXPECT_EQ(table.size(), 2U);
  EXPECT_TRUE(table.contains(one));
  const rcu_reader section;
  EXPECT_EQ(*table.find(one), "one");
  EXPECT_EQ(*std::as_const(table).find(two), "two");
  std::string visited;
  EXPECT_TRUE(table.visit(two, [&](std::string& found) { visited = found; }));
  EXPECT_EQ(visited, "two");
  EXPECT_EQ(ids(table), (std::vector<object_id>{one, two}));
}

TEST(id_table, finds_nothing_under_numbers_that_are_no_ids) {
  id_table<int> table;
  const rcu_reader section;
  for (const object_id id :
       {object_id{0}, object_id{1}, object_id{1} << 32, ~object_id{0}, object_id{1} << 63}) {
    EXPECT_EQ(table.find(id), nullptr) << id;
    EXPECT_FALSE(table.contains(id)) << id;
    EXPECT_FALSE(table.lock(id)) << id;
    EXPECT_FALSE(table.try_lock(id)) << id;
    EXPECT_FALSE(table.erase(id)) << id;
    EXPECT_FALSE(table.visit(id, [](int) { ADD_FAILURE(); })) << id;
  }
}

TEST(id_table, refuses_the_id_of_an_object_that_is_gone) {
  id_table<int> table;
  const object_id old = table.emplace(1);
  EXPECT_TRUE(table.erase(old));
  EXPECT_EQ(table.size(), 0U);
  const object_id fresh = table.emplace(2);
  EXPECT_EQ(fresh & 0xFFFF'FFFFU, old & 0xFFFF'FFFFU) << "not the same slot";
  EXPECT_FALSE(table.contains(old));
  EXPECT_FALSE(table.lock(old));
  EXPECT_FALSE(table.erase(old));
  EXPECT_EQ(*table.lock(fresh), 2);
}

TEST(id_table, deletes_objects_after_their_readers) {
  const int before = counted::alive;
  {
    id_table<counted> table;
    const object_id id = table.emplace(7);
    {
      const rcu_reader section;
      const counted* const found = table.find(id);
      table.erase(id);
      EXPECT_EQ(table.find(id), nullptr);
      EXPECT_EQ(found->value, 7);
      EXPECT_EQ(counted::alive, before + 1);
    }
    rcu_barrier();
    EXPECT_EQ(counted::alive, before);
    table.emplace(8);
    table.emplace(9);
  }
  EXPECT_EQ(counted::alive, before) << "the table's end deletes what is in it";
}

TEST(id_table, grows_and_keeps_all_objects) {
  id_table<int> table;
  std::vector<object_id> all;
  for (int i = 0; i < 1000; ++i) all.push_back(table.emplace(i));
  EXPECT_EQ(std::set<object_id>(all.begin(), all.end()).size(), all.size());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*table.lock(all[static_cast<std::size_t>(i)]), i);
  EXPECT_GE(table.capacity(), 1000U);
  EXPECT_EQ(ids(table), all);
}

TEST(id_table, a_reader_of_the_old_array_goes_on) {
  id_table<int> table;
  const object_id first = table.emplace(1);
  const rcu_reader section;
  int met = 0;
  table.for_each([&](object_id, int) {
    if (met++ == 0) {
      while (table.size() < 100) table.emplace(0);
    }
  });
  EXPECT_EQ(met, 4) << "not the slots of the array that was there when the walk began";
  EXPECT_EQ(*table.find(first), 1);
}

TEST(id_table, holds_no_more_than_it_may) {
  id_table<int> table(3);
  EXPECT_EQ(table.max_size(), 3U);
  const object_id one = table.emplace(1);
  table.emplace(2);
  table.emplace(3);
  EXPECT_EQ(length_error_of([&] { table.emplace(4); }), "id_table: full with 3 objects");
  EXPECT_EQ(table.size(), 3U);
  table.erase(one);
  EXPECT_TRUE(table.contains(table.emplace(4)));
  id_table<int> none(0);
  EXPECT_EQ(length_error_of([&] { none.emplace(1); }), "id_table: full with 0 objects");
}

TEST(id_table, reserves_no_more_than_it_may_hold) {
  id_table<int> table(100);
  EXPECT_EQ(length_error_of([&] { table.reserve(101); }),
            "id_table: 101 objects are too many, 100 the most");
  EXPECT_EQ(length_error_of([&] { table.reserve(~std::uint64_t{0}); }),
            "id_table: 18446744073709551615 objects are too many, 100 the most");
  EXPECT_EQ(table.capacity(), 4U);
  table.reserve(100);
  EXPECT_EQ(table.capacity(), 128U);
}

// Two bits for the slot and two for the generation: 4 objects at a time, 12 ids.
using small_ids = id_table<int, readmost::detail::mutex, 2, 2>;

TEST(id_table, has_no_more_slots_than_ids_have_numbers) {
  EXPECT_EQ(length_error_of([] { small_ids(5); }), "id_table: 5 objects are too many, 4 the most");
  small_ids table;
  for (int i = 0; i < 4; ++i) EXPECT_LT(table.emplace(i), 16U);
  EXPECT_EQ(length_error_of([&] { table.emplace(4); }), "id_table: full with 4 objects");
  EXPECT_EQ(table.capacity(), 4U);
}

TEST(id_table, gives_no_id_out_twice) {
  small_ids table;
  std::set<object_id> all;
  for (int i = 0; i < 12; ++i) {
    const object_id id = table.emplace(i);
    EXPECT_TRUE(all.insert(id).second) << id;
    EXPECT_TRUE(table.erase(id));
    EXPECT_FALSE(table.contains(id));
    table.shrink_to_fit();
  }
  EXPECT_EQ(length_error_of([&] { table.emplace(12); }),
            "id_table: all ids of the free slots are used up");
  EXPECT_TRUE(table.empty());
}

TEST(id_table, gives_no_id_out_twice_after_it_has_shrunk) {
  id_table<int, readmost::detail::mutex, 10, 6> table;
  std::set<object_id> all;
  for (int round = 0; round < 10; ++round) {
    std::vector<object_id> burst;
    for (int i = 0; i < 40; ++i) burst.push_back(table.emplace(i));
    for (const object_id id : burst) {
      EXPECT_TRUE(all.insert(id).second) << id;
      EXPECT_TRUE(table.erase(id));
    }
    table.shrink_to_fit();
    EXPECT_EQ(table.capacity(), 4U);
  }
}

TEST(id_table, shrinks_to_what_it_needs) {
  id_table<int> table;
  std::vector<object_id> all;
  for (int i = 0; i < 100; ++i) all.push_back(table.emplace(i));
  table.reserve(1000);
  EXPECT_GE(table.capacity(), 1000U);
  for (std::size_t i = 5; i < 100; ++i) table.erase(all[i]);
  table.shrink_to_fit();
  EXPECT_EQ(table.capacity(), 8U);
  std::set<object_id> known(all.begin(), all.end());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(known.insert(table.emplace(i)).second);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(table.contains(all[i]));
  for (std::size_t i = 5; i < 100; ++i) EXPECT_FALSE(table.contains(all[i]));
  table.clear();
  EXPECT_TRUE(table.empty());
  table.shrink_to_fit();
  EXPECT_EQ(table.capacity(), 4U);
}

TEST(id_table, is_unchanged_where_memory_runs_out) {
  SKIP_WHERE_MEMORY_CANNOT_RUN_OUT();
  id_table<int> table;
  std::vector<object_id> all;
  for (int i = 0; i < 64; ++i) all.push_back(table.emplace(i));
  ASSERT_EQ(table.capacity(), 64U);
  {
    const allocation_limit none(200);
    EXPECT_THROW(table.emplace(64), std::bad_alloc);
    EXPECT_THROW(table.reserve(1000), std::bad_alloc);
    for (std::size_t i = 4; i < 64; ++i) table.erase(all[i]);
    const allocation_limit still(100);
    EXPECT_THROW(table.shrink_to_fit(), std::bad_alloc);
  }
  EXPECT_EQ(table.size(), 4U);
  EXPECT_EQ(table.capacity(), 64U);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(table.contains(all[i]), i < 4);
  EXPECT_TRUE(table.contains(table.emplace(1)));
  // More than any memory has, and therefore not even asked for.
  id_table<int, readmost::detail::mutex, 62> huge;
  EXPECT_THROW(huge.reserve(std::uint64_t{1} << 62), std::bad_alloc);
}

TEST(id_table, is_unchanged_where_a_constructor_throws) {
  const int before = counted::alive;
  id_table<counted> table;
  const counted original(1);
  counted::copies_fail = true;
  EXPECT_THROW(table.insert(original), std::runtime_error);
  counted::copies_fail = false;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(counted::alive, before + 1);
}

struct immovable {
  explicit immovable(int initial) : value(initial) {}
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
  int value;
};

TEST(id_table, keeps_objects_that_cannot_be_moved) {
  id_table<immovable, std::mutex> table;
  const object_id id = table.emplace(5);
  EXPECT_EQ(table.lock(id)->value, 5);
}

// --- Locks

TEST(id_table, a_guard_excludes_others_from_its_object_alone) {
  id_table<int> table;
  const object_id mine = table.emplace(1);
  const object_id other = table.emplace(2);
  auto guard = table.lock(mine);
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard.id(), mine);
  EXPECT_FALSE(table.try_lock(mine));
  EXPECT_TRUE(table.contains(mine));
  EXPECT_TRUE(table.try_lock(other));
  guard.unlock();
  EXPECT_FALSE(guard);
  EXPECT_TRUE(table.try_lock(mine));
}

TEST(id_table, a_guard_moves) {
  id_table<int> table;
  const object_id id = table.emplace(1);
  auto guard = table.lock(id);
  auto moved = std::move(guard);
  EXPECT_FALSE(guard);
  EXPECT_EQ(*moved, 1);
  EXPECT_FALSE(table.try_lock(id));
  moved = {};
  EXPECT_TRUE(table.try_lock(id));
}

TEST(id_table, the_holder_may_erase) {
  id_table<int> table;
  const object_id id = table.emplace(1);
  auto guard = table.lock(id);
  table.erase(std::move(guard));
  EXPECT_FALSE(guard);
  EXPECT_FALSE(table.contains(id));
  EXPECT_TRUE(table.empty());
}

TEST(id_table, a_guard_is_no_section) {
  id_table<int> table;
  const object_id id = table.emplace(1);
  auto guard = table.lock(id);
  helper_thread waiting;
  waiting.begin([&] { return table.lock(id) ? 1 : 0; });
  EXPECT_TRUE(waiting.falls_asleep());
  readmost::rcu_synchronize();  // neither for this thread nor for the one that waits
  table.erase(std::move(guard));
  EXPECT_EQ(waiting.end(), 0) << "it waited for an object that is gone";
}

TEST(id_table, readers_share_a_lock_that_can_be_shared) {
  id_table<int, readmost::shared_mutex> table;
  const object_id id = table.emplace(3);
  {
    const auto one = table.lock_shared(id);
    const auto two = table.try_lock_shared(id);
    EXPECT_EQ(*one + *two, 6);
    EXPECT_FALSE(table.try_lock(id));
  }
  auto alone = table.lock(id);
  EXPECT_FALSE(table.try_lock_shared(id));
  table.erase(std::move(alone));
  EXPECT_FALSE(table.lock_shared(id));
}

TEST(id_table, belongs_to_its_domain) {
  readmost::separate_rcu_domain domain;
  const int before = counted::alive;
  id_table<counted> table(domain);
  EXPECT_EQ(&table.domain(), &domain);
  const object_id id = table.emplace(1);
  std::vector<object_id> all;
  for (int i = 0; i < 20; ++i) all.push_back(table.emplace(i));
  {
    const rcu_reader other;  // does not keep this table's objects
    table.erase(id);
    rcu_barrier(domain);
  }
  EXPECT_EQ(counted::alive, before + 20);
}

// --- Threads

TEST(id_table, loses_no_operation_while_objects_come_and_go) {
  struct account {
    std::uint64_t sum = 0;
    bool closed = false;
  };
  constexpr std::size_t places = 16;
  id_table<account> table;
  std::array<std::atomic<object_id>, places> known{};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> collected{0};
  std::atomic<bool> over{false};
  for (auto& place : known) place = table.emplace();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; !over; ++i) {
          if (auto found = table.lock(known[i % places])) {
            EXPECT_FALSE(found->closed) << "an object that is gone was locked";
            ++found->sum;
            ++done;
          } else {
            ++refused;
          }
        }
      });
    }
    for (std::size_t i = 0; i < 20'000 || done < 20'000; ++i) {
      const object_id old = known[i % places];
      auto held = table.lock(old);
      ASSERT_TRUE(held);
      collected += held->sum;
      held->closed = true;
      table.erase(std::move(held));
      known[i % places] = table.emplace();
      if (i % 64 == 0) {
        std::vector<object_id> burst;
        for (int k = 0; k < 64; ++k) burst.push_back(table.emplace());
        for (const object_id id : burst) EXPECT_TRUE(table.erase(id));
        table.shrink_to_fit();
      }
    }
    over = true;
  }
  for (const auto& place : known) collected += table.lock(place)->sum;
  EXPECT_EQ(collected, done);
  EXPECT_EQ(table.size(), places);
}

TEST(id_table, one_of_many_threads_erases) {
  id_table<int> table;
  for (int round = 0; round < 300; ++round) {
    const object_id id = table.emplace(round);
    std::atomic<int> erased{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 3; ++t) threads.emplace_back([&] { erased += table.erase(id) ? 1 : 0; });
    }
    EXPECT_EQ(erased, 1);
    EXPECT_TRUE(table.empty());
  }
}

}  // namespace
