// SPDX-License-Identifier: Apache-2.0
// Every moment of a call is tried, and no other.
#include "support/single_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#if CAN_STEP

namespace {

using test::machine_code;

std::atomic<long> number{0};

// Loses what an interruption between its two accesses adds.
[[gnu::noinline]] void add_one_carelessly() {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

const machine_code here = test::code_around(add_one_carelessly);

TEST(single_step, tries_the_moments_before_between_and_after_two_instructions) {
  std::set<long> results;
  for (std::size_t step = 0;; ++step) {
    number = 0;
    int calls = 0;
    const bool interrupted = test::interrupt_at(step, here, add_one_carelessly, [&] {
      ++calls;
      number = number * 2 + 100;
    });
    if (!interrupted) break;
    if (test::steps_are_exact) {
      ASSERT_EQ(calls, 1);
    } else {
      ASSERT_LE(calls, 1);
    }
    results.insert(number);
    ASSERT_LT(step, 10'000U);
  }
  if (test::steps_are_exact) {
    EXPECT_THAT(results, testing::ElementsAre(1, 101, 102));
  } else {
    EXPECT_THAT(results, testing::IsSubsetOf({1, 101, 102}));
  }
}

TEST(single_step, runs_the_body_once_and_to_its_end_wherever_it_is_interrupted) {
  bool interrupted = true;
  for (std::size_t step = 0; interrupted; ++step) {
    number = 0;
    interrupted = test::interrupt_at(
        step, here,
        [] {
          for (int i = 0; i < 3; ++i) add_one_carelessly();
        },
        [] {});
    ASSERT_EQ(number, 3) << "step " << step;
  }
}

TEST(single_step, counts_the_steps_from_0_and_stops_when_it_is_told_to) {
  std::size_t expected = 0;
  bool in_order = true;
  const std::size_t all = test::step_through(here, add_one_carelessly, [&](std::size_t n) {
    in_order = in_order && n == expected++;
    return true;
  });
  EXPECT_TRUE(in_order);
  EXPECT_EQ(all, expected);
  const auto stop_at_2 = [](std::size_t n) { return n < 2; };
  const std::size_t some = test::step_through(here, add_one_carelessly, stop_at_2);
  if (test::steps_are_exact) {
    EXPECT_GT(all, 3U);
    EXPECT_EQ(some, 3U);
  } else {
    EXPECT_LE(some, 3U);
  }
}

TEST(single_step, tells_bodies_that_end_soon_from_those_that_do_not) {
  EXPECT_TRUE(test::ends_within(1'000'000, here, add_one_carelessly));
  EXPECT_FALSE(test::ends_within(1'000, here, [] {
    for (int i = 0; i < 10'000'000 / (test::steps_are_exact ? 1'000 : 1); ++i) add_one_carelessly();
  }));
}

TEST(single_step, leaves_out_the_code_of_other_files) {
  const machine_code libc = test::code_around(swab);  // which no sanitizer replaces
  EXPECT_FALSE(libc.contains(here.begin));
  const auto steps = [](const machine_code& where, std::size_t length) {
    const std::string text(length, 'a');
    std::string swapped(length, 'b');
    const std::function<void()> body = [&] {
      swab(text.data(), swapped.data(), static_cast<ssize_t>(length));
    };
    body();  // the dynamic linker looks the function up
    return test::step_through(where, body, [](std::size_t) { return true; });
  };
  if (test::steps_are_exact) {
    EXPECT_EQ(steps(here, 10), steps(here, 100'000));
    EXPECT_LT(steps(libc, 10), steps(libc, 100'000));
  }
}

TEST(single_step, leaves_other_threads_alone) {
  std::thread::id stepped;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) add_one_carelessly();
  });
  bool only_this_thread = true;
  for (int round = 0; round < 100; ++round) {
    test::step_through(here, add_one_carelessly, [&](std::size_t) {
      stepped = std::this_thread::get_id();
      only_this_thread = only_this_thread && stepped != other.get_id();
      return true;
    });
  }
  stop = true;
  other.join();
  EXPECT_TRUE(only_this_thread);
}

TEST(single_step, steps_two_threads_at_a_time) {
  std::atomic<int> rounds{0};
  std::size_t steps[2] = {};
  const auto step = [&](std::size_t i) {
    ++rounds;
    while (rounds < 2) std::this_thread::yield();
    steps[i] = test::step_through(here, add_one_carelessly, [](std::size_t) { return true; });
  };
  std::thread other([&] { step(1); });
  step(0);
  other.join();
  if (test::steps_are_exact) {
    EXPECT_EQ(steps[0], steps[1]);
  }
}

}  // namespace

#endif
