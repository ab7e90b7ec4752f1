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
    const benefit seen = company::judge_crowd(*me, lock, began);
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
  EXPECT_EQ(company::judge_crowd(*me, other, now), benefit::unknown);
}

// Where every thread has a CPU.
class company_of_two : public company_of_a_thread {
 protected:
  static constexpr std::uint64_t alone = 100;
  static constexpr std::uint64_t enough = 48;

  // So many reads of so many nanoseconds each, and then a wait that is spun for.
  company::pair_judgment after(std::uint64_t operations, std::uint64_t each,
                               std::uint64_t wait = 0) {
    add(me->reads[readmost::detail::home_slot(&lock)], operations);
    return wait_after(operations * each, wait);
  }
  company::pair_judgment after_writes(std::uint64_t operations, std::uint64_t each) {
    add(me->writes, operations);
    return wait_after(operations * each, 0);
  }

  company::pair_judgment wait_after(std::uint64_t time, std::uint64_t wait) {
    now += time;
    const std::uint64_t began = now;
    const company::pair_judgment seen = company::judge_pair(*me, lock, began);
    now += wait;
    company::end_wait(*me, lock, began, now);
    return seen;
  }

  static void add(platform::atomic<std::uint64_t>& counter, std::uint64_t operations) {
    counter.store(counter.load(platform::relaxed) + operations, platform::relaxed);
  }

  // Until a stretch is over, with a wait after eight operations each; what its end says.
  company::pair_judgment stretch(std::uint64_t each) {
    for (int waits = 0; waits < 100; ++waits) {
      const company::pair_judgment seen = after(8, each);
      if (me->stretch_began == now) return seen;
    }
    ADD_FAILURE() << "no end";
    return {};
  }

  void SetUp() override {
    company::known_time_alone(lock).store(0, platform::relaxed);
    company_of_a_thread::SetUp();
  }
};

TEST_F(company_of_two, is_of_unknown_use_until_one_has_been_alone) {
  for (std::uint64_t done = 0; done < 2 * enough; done += 8) {
    EXPECT_EQ(after(8, alone).together, benefit::unknown);
    EXPECT_FALSE(after(8, alone).looks_often);
  }
  EXPECT_EQ(after(enough, alone).together, benefit::some);
  EXPECT_EQ(me->time_alone, alone + 1);
}

TEST_F(company_of_two, is_of_use_where_an_operation_takes_less_than_twice_its_time) {
  after(enough, alone);
  EXPECT_EQ(stretch(2 * alone).together, benefit::some);
  EXPECT_TRUE(company::has_paid(*me));
  EXPECT_TRUE(after(8, alone).looks_often);
}

TEST_F(company_of_two, is_of_no_use_where_an_operation_takes_more) {
  after(enough, alone);
  EXPECT_EQ(stretch(3 * alone).together, benefit::none);
  EXPECT_FALSE(company::has_paid(*me));
}

TEST_F(company_of_two, is_found_of_no_use_once_a_stretch_of_use_would_be_over) {
  after(enough, alone);
  EXPECT_EQ(after(1, enough * alone).together, benefit::some);
  EXPECT_EQ(after(1, 2 * enough * alone).together, benefit::none);
}

TEST_F(company_of_two, is_judged_anew_before_each_absence) {
  after(enough, alone);
  EXPECT_EQ(stretch(3 * alone).together, benefit::none);
  EXPECT_EQ(after(8, 3 * alone).together, benefit::some) << "too few to tell";
}

TEST_F(company_of_two, outlives_some_bad_stretches) {
  after(enough, alone);
  for (int i = 0; i < 10; ++i) stretch(alone);
  EXPECT_EQ(stretch(10 * alone).together, benefit::some);
  EXPECT_EQ(stretch(10 * alone).together, benefit::some);
  EXPECT_EQ(stretch(10 * alone).together, benefit::none);
}

TEST_F(company_of_two, lets_a_thread_look_often_unless_it_is_far_from_paying) {
  after(enough, alone);
  EXPECT_TRUE(stretch(3 * alone).looks_often);
  EXPECT_FALSE(stretch(10 * alone).looks_often);
}

TEST_F(company_of_two, is_not_judged_for_some_absences_after_it_was_far_from_paying) {
  after(enough, alone);
  EXPECT_EQ(stretch(10 * alone).together, benefit::none);
  for (int absence = 0; absence < 4; ++absence) {
    EXPECT_EQ(after(8, alone).together, benefit::unknown) << absence;
    company::note_absence(*me);
  }
  const company::pair_judgment next = after(8, alone);
  EXPECT_EQ(next.together, benefit::some);
  EXPECT_TRUE(next.looks_often);
  company::note_absence(*me);
  EXPECT_EQ(after(8, alone).together, benefit::some);
}

TEST_F(company_of_two, is_not_judged_by_a_thread_that_does_little_but_write) {
  after(enough, alone);
  EXPECT_EQ(after_writes(enough, alone).together, benefit::unknown);
  EXPECT_EQ(after_writes(8, alone).together, benefit::unknown);
  after(enough, alone);
  after(3, alone);
  EXPECT_EQ(after_writes(8, alone).together, benefit::some) << "three of four";
}

TEST_F(company_of_two, lets_a_thread_that_hardly_ever_waits_look_often) {
  after(enough, alone);
  stretch(10 * alone);
  const company::pair_judgment seen = after(enough, alone);
  EXPECT_EQ(seen.together, benefit::some);
  EXPECT_TRUE(seen.looks_often);
  EXPECT_FALSE(after(enough, alone / 2).looks_often) << "it waits again within microseconds";
}

TEST_F(company_of_two, is_judged_by_what_others_know_if_one_is_never_alone) {
  const auto other = std::make_unique<thread_record>();
  company::end_wait(*other, lock, 0, now);
  add(other->reads[readmost::detail::home_slot(&lock)], enough);
  company::judge_pair(*other, lock, now + enough * alone);
  EXPECT_EQ(stretch(3 * alone).together, benefit::none);
  EXPECT_EQ(me->time_alone, alone + 1);
}

TEST_F(company_of_two, is_compared_with_what_operations_take_alone_now) {
  after(enough, alone);
  for (int i = 0; i < 100; ++i) after(enough, 3 * alone);
  EXPECT_EQ(me->time_alone, alone + 1) << "it may have had company";
  for (int i = 0; i < 100; ++i) after(1'000, 3 * alone);
  EXPECT_EQ(me->time_alone, 3 * alone + 1);
  EXPECT_NEAR(company::known_time_alone(lock).load(platform::relaxed), 3 * alone, 40);
  after(enough, alone);
  EXPECT_EQ(me->time_alone, alone + 1);
}

TEST_F(company_of_two, does_not_count_a_wait_that_is_slept_through) {
  after(enough, alone);
  after(8, alone, 50'000);
  EXPECT_EQ(stretch(alone).together, benefit::some);
  EXPECT_TRUE(company::has_paid(*me));
}

TEST_F(company_of_two, is_of_unknown_use_at_another_lock) {
  after(enough, alone);
  rwlock other;
  company::known_time_alone(other).store(0, platform::relaxed);
  company::end_wait(*me, other, 0, now);
  me->waited_for = readmost::detail::address(other);
  EXPECT_EQ(company::judge_pair(*me, other, now).together, benefit::unknown);
}

}  // namespace
