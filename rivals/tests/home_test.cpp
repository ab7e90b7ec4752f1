// SPDX-License-Identifier: Apache-2.0
// A thread's number and place, its notes, and the parts of a lock that exist per place.
#include "rivals/home.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace {

TEST(home, is_the_same_however_often_a_thread_asks) {
  const unsigned number = rivals::my_number();
  EXPECT_NE(number, rivals::no_number);
  EXPECT_EQ(rivals::my_number(), number);
  EXPECT_EQ(rivals::home(), number % rivals::places());
}

TEST(home, is_asked_for_by_place_first) {
  std::jthread([] { EXPECT_EQ(rivals::home(), rivals::my_number() % rivals::places()); }).join();
}

TEST(home, numbers_of_threads_that_are_there_at_once_differ) {
  constexpr unsigned count = 150;  // more than the first chunk of records has
  std::vector<unsigned> numbers(count);
  std::latch all_there(count);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        numbers[i] = rivals::my_number();
        all_there.arrive_and_wait();
      });
    }
  }
  EXPECT_EQ(std::set<unsigned>(numbers.begin(), numbers.end()).size(), count);
  EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), 2 * count);
}

TEST(home, numbers_are_used_again) {
  std::set<unsigned> numbers;
  for (int i = 0; i < 50; ++i) {
    std::jthread([&] { numbers.insert(rivals::my_number()); }).join();
  }
  EXPECT_LT(numbers.size(), 5U);
}

TEST(notes, are_found_by_lock_in_any_order) {
  constexpr std::uintptr_t count = 40;  // more than fit without memory
  char locks[count];
  for (std::uintptr_t i = 0; i < count; ++i) rivals::note(&locks[i], i + 1);
  for (std::uintptr_t i = 0; i < count; ++i) {
    const std::uintptr_t which = i * 7 % count;
    EXPECT_TRUE(rivals::has_note(&locks[which]));
    EXPECT_EQ(rivals::take_note(&locks[which]), which + 1);
    EXPECT_FALSE(rivals::has_note(&locks[which]));
  }
}

TEST(notes, of_one_lock_are_as_many_as_there_were) {
  char lock;
  for (int i = 0; i < 12; ++i) rivals::note(&lock, 5);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(rivals::take_note(&lock), 5U);
  EXPECT_FALSE(rivals::has_note(&lock));
}

TEST(notes, are_each_thread_s_own) {
  char lock;
  rivals::note(&lock, 1);
  std::jthread([&] { EXPECT_FALSE(rivals::has_note(&lock)); }).join();
  EXPECT_EQ(rivals::take_note(&lock), 1U);
}

TEST(notes_death, of_a_lock_that_is_not_held_end_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  char lock;
  EXPECT_DEATH(rivals::take_note(&lock), "");
}

TEST(spread_array, has_each_element_on_a_line_of_its_own) {
  rivals::spread_array<char> array(5);
  EXPECT_EQ(array.size(), 5U);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&array[i]) % rivals::platform::cache_line, 0U);
    EXPECT_EQ(array[i], 0);
  }
  EXPECT_EQ(&array[1] - &array[0], static_cast<std::ptrdiff_t>(rivals::platform::cache_line));
  EXPECT_EQ(decltype(array)::footprint(5), 5 * rivals::platform::cache_line);
}

TEST(seats, are_two_for_each_cpu_and_a_few) {
  EXPECT_EQ(rivals::seats_for(1), 8U);
  EXPECT_EQ(rivals::seats_for(4), 8U);
  EXPECT_EQ(rivals::seats_for(72), 144U);
  EXPECT_EQ(rivals::seats_for(5), 16U);
}

}  // namespace
