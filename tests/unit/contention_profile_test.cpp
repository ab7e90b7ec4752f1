// SPDX-License-Identifier: Apache-2.0
#include "statistics/contention_profile.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>

namespace readmost::detail {
namespace {

constexpr std::uintptr_t first_lock = 0x1000;
constexpr std::uint64_t most_untold = 75'000;

// A profile of its own; each test uses it in a new thread, which has told everything.
class contention : public ::testing::Test {
 protected:
  template <class Body>
  static void in_a_thread(Body body) {
    std::thread(body).join();
  }

  void delay(std::uintptr_t lock, std::uint64_t nanoseconds,
             delay_kind kind = delay_kind::write_wait) {
    profile_delay(*table, lock, kind, nanoseconds, nullptr);
  }

  template <class Wanted>
  std::uint64_t sum_of(counter profile_stack::* what, Wanted wanted) const {
    std::uint64_t sum = 0;
    for (const profile_stack& each : table->stacks) {
      if (each.count != 0 && wanted(each)) sum += (each.*what).load();
    }
    return sum;
  }
  std::uint64_t sum_of(counter profile_stack::* what) const {
    return sum_of(what, [](const profile_stack&) { return true; });
  }
  std::uint64_t time_at(std::uintptr_t lock) const {
    return sum_of(&profile_stack::nanoseconds,
                  [&](const profile_stack& each) { return each.lock == lock; });
  }
  std::uint64_t lost() const {
    return std::accumulate(std::begin(table->lost_nanoseconds), std::end(table->lost_nanoseconds),
                           std::uint64_t{0});
  }

  std::unique_ptr<profile_table> table = std::make_unique<profile_table>();
};

TEST_F(contention, of_short_delays_adds_up_to_their_time) {
  in_a_thread([&] {
    for (int i = 0; i < 20'000; ++i) delay(first_lock, 700);
  });
  const std::uint64_t all = 20'000 * 700;
  EXPECT_LE(sum_of(&profile_stack::nanoseconds), all);
  EXPECT_GE(sum_of(&profile_stack::nanoseconds), all - most_untold);
  EXPECT_GE(sum_of(&profile_stack::events), (all - most_untold) / 700);
}

TEST_F(contention, of_delays_that_take_turns_shows_them_all) {
  in_a_thread([&] {
    for (int i = 0; i < 50'000; ++i) {
      delay(first_lock, 1'000, delay_kind::read_wait);
      delay(first_lock + 1, 1'000, delay_kind::revocation);
      delay(first_lock + 2, 2'000);
    }
  });
  const auto all = static_cast<double>(sum_of(&profile_stack::nanoseconds));
  EXPECT_NEAR(static_cast<double>(time_at(first_lock)) / all, 0.25, 0.08);
  EXPECT_NEAR(static_cast<double>(time_at(first_lock + 1)) / all, 0.25, 0.08);
  EXPECT_NEAR(static_cast<double>(time_at(first_lock + 2)) / all, 0.5, 0.08);
}

TEST_F(contention, of_a_thread_that_loses_little_is_known) {
  in_a_thread([&] { delay(first_lock, 90); });
  EXPECT_EQ(time_at(first_lock), 90);
}

TEST_F(contention, gives_a_long_delay_to_its_own_stack) {
  in_a_thread([&] {
    delay(first_lock, 90);
    delay(first_lock, 100);
    delay(first_lock + 1, 50'000);
  });
  EXPECT_EQ(time_at(first_lock + 1), 50'000);
}

TEST_F(contention, is_added_to_the_stack_that_was_taken_before_the_sleep) {
  in_a_thread([&] {
    profile_stack* const before = profiled_stack(*table, first_lock, delay_kind::read_wait);
    ASSERT_NE(before, nullptr);
    profile_delay(*table, first_lock, delay_kind::read_wait, 1'234, before);
    EXPECT_EQ(before->nanoseconds.load(), 1'234);
    EXPECT_EQ(before->events.load(), 1);
  });
}

[[gnu::noinline]] void delay_elsewhere(profile_table& table) {
  profile_delay(table, first_lock, delay_kind::revocation, 60'000, nullptr);
}

TEST_F(contention, keeps_room_for_stacks_and_loses_no_time_when_there_are_many_locks) {
  constexpr std::uint64_t locks = 4 * profile_table::capacity;
  in_a_thread([&] {
    for (std::uint64_t i = 0; i < locks; ++i) delay(first_lock + i, 60'000);
    delay_elsewhere(*table);
  });
  EXPECT_EQ(sum_of(&profile_stack::nanoseconds) + lost(), (locks + 1) * 60'000);
  EXPECT_EQ(lost(), 0);
  EXPECT_EQ(sum_of(&profile_stack::nanoseconds,
                   [](const profile_stack& each) { return each.kind == delay_kind::revocation; }),
            60'000);
  EXPECT_GT(time_at(0), 0);
}

TEST_F(contention, counts_what_has_no_room) {
  for (profile_stack& each : table->stacks) each.key = 1;
  table->used = profile_table::capacity;
  in_a_thread([&] { delay(first_lock, 60'000); });
  EXPECT_EQ(lost(), 60'000);
}

TEST_F(contention, notes_the_modules_of_its_stacks) {
  in_a_thread([&] { delay(first_lock, 60'000); });
  ASSERT_GT(table->modules_used, 0);
  const auto here = reinterpret_cast<std::uintptr_t>(&delay_elsewhere);
  bool found = false;
  for (std::uint32_t i = 0; i < table->modules_used; ++i) {
    found = found || (table->modules[i].start <= here && here < table->modules[i].end);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace readmost::detail
