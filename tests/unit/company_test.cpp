// SPDX-License-Identifier: Apache-2.0
// What a thread concludes from the time that its operations take beside other threads.
#include "lock/company.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace {

namespace company = readmost::detail::company;
namespace platform = readmost::detail::platform;
using company::benefit;
using readmost::detail::rwlock;
using readmost::detail::thread_record;

class company_of_a_thread : public testing::Test {
 protected:
  static constexpr std::uint64_t alone = 10;

  // So many writes of so many nanoseconds each, and then a wait that is spun for.
  benefit after(std::uint64_t operations, std::uint64_t each, std::uint64_t wait = 0) {
    me->writes.store(me->writes.load(platform::relaxed) + operations, platform::relaxed);
    now += operations * each;
    const std::uint64_t began = now;
    const benefit seen = company::judge_stretch(*me, lock, began);
    now += wait;
    company::end_wait(*me, lock, began, now);
    return seen;
  }

  // The time of an operation beside as many others as there are CPUs, if all of them together do as
  // much as one alone would.
  std::uint64_t even() const { return alone * std::max(readmost::detail::known_cpus(), 2U); }

  void SetUp() override {
    company::end_wait(*me, lock, 0, now);
    me->waited_for = readmost::detail::address(lock);
  }

  rwlock lock;
  std::unique_ptr<thread_record> me = std::make_unique<thread_record>();
  std::uint64_t now = 1'000'000;
};

TEST_F(company_of_a_thread, is_of_unknown_use_until_it_has_been_alone) {
  EXPECT_EQ(after(1, even() * 10), benefit::unknown);
  EXPECT_EQ(after(6, even() * 10), benefit::unknown) << "too few to tell";
  EXPECT_EQ(after(1'000, alone), benefit::unknown);
  EXPECT_EQ(after(1'000, alone), benefit::some);
}

TEST_F(company_of_a_thread, is_of_no_use_where_it_takes_twice_what_it_gives) {
  after(1'000, alone);
  EXPECT_EQ(after(8, even()), benefit::some);
  EXPECT_EQ(after(8, even() * 2), benefit::some);
  EXPECT_EQ(after(8, even() * 3), benefit::none);
  EXPECT_EQ(after(8, alone), benefit::some);
}

TEST_F(company_of_a_thread, is_judged_by_several_operations) {
  after(1'000, alone);
  EXPECT_EQ(after(4, even() * 3), benefit::some);
  EXPECT_EQ(after(4, even() * 3), benefit::none);
  EXPECT_EQ(after(4, even() * 3), benefit::some) << "what came before counts no more";
}

TEST_F(company_of_a_thread, costs_the_time_that_is_spun_for) {
  after(1'000, alone);
  const std::uint64_t spun = std::min<std::uint64_t>(even() * 20, 14'000);  // more is a sleep
  EXPECT_EQ(after(4, alone, spun), benefit::some);
  const benefit seen = after(4, alone);
  if (spun == even() * 20) {
    EXPECT_EQ(seen, benefit::none);
  }
}

TEST_F(company_of_a_thread, does_not_cost_the_time_that_is_slept_through) {
  after(1'000, alone);
  EXPECT_EQ(after(7, even() * 3, 50'000), benefit::some);
  EXPECT_EQ(after(8, alone), benefit::some);
}

TEST_F(company_of_a_thread, is_not_judged_where_waits_are_rare) {
  after(1'000, alone);
  EXPECT_EQ(after(100, std::max<std::uint64_t>(even() * 3, 1'001)), benefit::some);
}

TEST_F(company_of_a_thread, is_judged_anew_where_operations_take_longer_now) {
  after(1'000, alone);
  EXPECT_EQ(after(8, even() * 3), benefit::none);
  for (int i = 0; i < 100; ++i) after(8, even() * 3);
  EXPECT_EQ(after(8, even() * 3), benefit::some);
}

TEST_F(company_of_a_thread, is_of_unknown_use_at_another_lock) {
  after(1'000, alone);
  rwlock other;
  company::end_wait(*me, other, 0, now);
  me->waited_for = readmost::detail::address(other);
  EXPECT_EQ(company::judge_stretch(*me, other, now), benefit::unknown);
}

}  // namespace
