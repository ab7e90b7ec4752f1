// SPDX-License-Identifier: Apache-2.0
// The intrusive stack with lock-free writers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <readmost/rcu_stack.hpp>
#include <thread>
#include <vector>

#include "linked_elements.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_reader;
using readmost::rcu_stack;
using readmost::rcu_stack_hook;
using test::ints;
using test::numbers;

using alarm = test::element_by_base<rcu_stack_hook>;
using alarms = rcu_stack<alarm>;

static_assert(std::forward_iterator<alarms::const_iterator>);
static_assert(!std::is_copy_constructible_v<alarms>);
static_assert(sizeof(alarms) == sizeof(void*));
static_assert(sizeof(rcu_stack_hook) == sizeof(void*));
// Readers get const access only.
static_assert(std::is_same_v<decltype(*std::declval<alarms&>().begin()), const alarm&>);

class rcu_stack_of_three : public testing::Test {
 protected:
  rcu_stack_of_three() {
    for (alarm* each : {&one, &two, &three}) stack.push(*each);
  }
  alarms stack;
  alarm one{1}, two{2}, three{3};
};

TEST(rcu_stack, is_empty_at_first) {
  alarms stack;
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.pop(), nullptr);
  EXPECT_EQ(numbers(stack), ints{});
  stack.clear([](alarm&) { FAIL() << "there is nothing to clear"; });
}

TEST_F(rcu_stack_of_three, has_the_newest_first) {
  EXPECT_FALSE(stack.empty());
  EXPECT_EQ(numbers(stack), (ints{3, 2, 1}));
}

TEST_F(rcu_stack_of_three, pops_the_newest) {
  EXPECT_EQ(stack.pop(), &three);
  EXPECT_EQ(stack.pop(), &two);
  EXPECT_EQ(numbers(stack), ints{1});
  EXPECT_EQ(stack.pop(), &one);
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.pop(), nullptr);
}

TEST_F(rcu_stack_of_three, a_reader_sees_the_elements_of_its_beginning) {
  alarm four(4);
  const rcu_reader section;
  auto at = stack.begin();
  EXPECT_EQ(stack.pop(), &three);
  EXPECT_EQ(stack.pop(), &two);
  stack.push(four);
  ints all;
  for (; at != stack.end(); ++at) all.push_back(at->number);
  EXPECT_EQ(all, (ints{3, 2, 1}));
  EXPECT_EQ(numbers(stack), (ints{4, 1}));
}

TEST_F(rcu_stack_of_three, clears_and_gives_out_each_element_newest_first) {
  ints given;
  stack.clear([&](alarm& each) { given.push_back(each.number); });
  EXPECT_EQ(given, (ints{3, 2, 1}));
  EXPECT_TRUE(stack.empty());
}

TEST_F(rcu_stack_of_three, takes_elements_again_after_a_grace_period) {
  alarm* const taken = stack.pop();
  readmost::rcu_synchronize();
  stack.push(*taken);
  EXPECT_EQ(numbers(stack), (ints{3, 2, 1}));
}

TEST(rcu_stack, knows_the_domain_of_its_readers) {
  static_assert(sizeof(alarms) == sizeof(void*));
  static_assert(!std::is_default_constructible_v<readmost::domain_rcu_stack<alarm>>);
  EXPECT_EQ(&alarms().domain(), &readmost::rcu_default_domain());
  readmost::separate_rcu_domain own;
  readmost::domain_rcu_stack<alarm> stack(own);
  EXPECT_EQ(&stack.domain(), &own);
  alarm one(1);
  stack.push(one);
  {
    const rcu_reader section(stack.domain());
    EXPECT_EQ(stack.begin()->number, 1);
  }
  EXPECT_EQ(stack.pop(), &one);
}

// One that retired in the default domain would delete what the reader uses.
TEST(rcu_stack, retires_in_its_domain) {
  readmost::separate_rcu_domain own;
  readmost::domain_rcu_stack<alarm> stack(own);
  const std::uint64_t before = readmost::rcu_statistics_of(own).reclaimed;
  for (int i = 0; i < 3; ++i) stack.push(*new alarm(i));
  {
    const rcu_reader section(own);
    auto at = stack.begin();
    stack.clear();
    rcu_barrier();  // of the default domain, where nothing may be
    ints met;
    for (; at != stack.end(); ++at) met.push_back(at->number);
    EXPECT_EQ(met, (ints{2, 1, 0}));
  }
  EXPECT_TRUE(stack.empty());
  rcu_barrier(own);
  EXPECT_EQ(readmost::rcu_statistics_of(own).reclaimed - before, 3U);
}

TEST(rcu_stack, a_copy_of_an_element_is_in_no_stack) {
  alarms stack, other;
  alarm one(1), two(2);
  stack.push(one);
  stack.push(two);
  alarm copy(two);
  copy.number = 3;
  other.push(copy);
  EXPECT_EQ(numbers(other), ints{3});
  two = copy;  // stays where it is
  EXPECT_EQ(numbers(stack), (ints{3, 1}));
}

TEST(rcu_stack, a_pop_keeps_its_element_from_being_reclaimed_in_the_callers_section) {
  alarms stack;
  stack.push(*new alarm(1));
  {
    const rcu_reader section;
    alarm* const popped = stack.pop();
    popped->retire();
    readmost::rcu_hurry();
    std::this_thread::yield();
    EXPECT_EQ(popped->number, 1);
  }
  rcu_barrier();
}

// Every element that is pushed is popped once, and readers meet whole stacks: each writer's numbers
// descend from the top. Elements are deleted and allocated all the while, so addresses return.
TEST(rcu_stack, loses_and_doubles_nothing_whatever_writers_and_readers_do_at_once) {
  constexpr int writers = 3;
  constexpr int elements = 50'000;
  alarms stack;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::atomic<int>> popped(writers * elements);
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < elements; ++i) {
        stack.push(*new alarm(writer * elements + i));
        // Leaves some, so that pops meet pushes of others.
        if (i % 4 == 3) {
          for (int take = 0; take < 4; ++take) {
            if (alarm* const taken = stack.pop()) {
              ++popped[static_cast<std::size_t>(taken->number)];
              taken->retire();
            }
          }
        }
      }
    });
  }
  std::thread reader([&] {
    while (!stop.load()) {
      const rcu_reader section;
      int last[writers] = {elements, elements, elements};
      for (const alarm& each : stack) {
        if (each.number < 0) {
          ++wrong;
          break;
        }
        int& newest = last[each.number / elements];
        if (each.number % elements >= newest) ++wrong;
        newest = each.number % elements;
      }
    }
  });
  for (std::thread& each : threads) each.join();
  stop = true;
  reader.join();
  stack.clear([&](alarm& each) {
    ++popped[static_cast<std::size_t>(each.number)];
    each.retire();
  });
  EXPECT_EQ(wrong, 0);
  for (const std::atomic<int>& times : popped) ASSERT_EQ(times, 1);
  rcu_barrier();
}

}  // namespace
