// SPDX-License-Identifier: Apache-2.0
// What the threads of a domain find out about the bias where revocations take long.
#include "lock/bias_trial.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <readmost/lock_domain.hpp>

#include "lock/bias.hpp"
#include "support/processes.hpp"
#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

constexpr std::uint64_t ms = 1'000'000;

// Threads that do so many operations in a millisecond, by a clock that the test moves.
class trial_of_the_bias : public testing::Test {
 protected:
  void work(std::uint64_t milliseconds, std::uint64_t operations_in_one) {
    now_ += milliseconds * ms;
    operations_ += milliseconds * operations_in_one;
  }
  void wait(std::uint64_t excess) {
    trial::note_wait(trial_, now_, excess, [this] { return operations_; });
  }
  // Waits for half of the time until there is a pause; the nanoseconds after which it came.
  std::uint64_t work_with_bias(std::uint64_t operations_in_ms) {
    const std::uint64_t start = now_;
    for (int i = 0; i < 100'000 && !is_paused(); ++i) {
      work(2, operations_in_ms);
      wait(ms);
    }
    return now_ - start;
  }
  bool is_paused() const { return trial_.pause_ends.load() != 0; }
  // The pause's nanoseconds from now on.
  std::uint64_t left() const { return is_paused() ? trial_.pause_ends.load() - now_ : 0; }
  // Until the end of the pause, or what is its end for now.
  void work_without_bias(std::uint64_t operations_in_ms) {
    work(left() / ms, operations_in_ms);
    trial::end_pause(trial_, now_, [this] { return operations_; });
  }
  // The same with both parts of the pause.
  void try_without_bias(std::uint64_t operations_in_ms) {
    work_without_bias(operations_in_ms);
    if (is_paused() && trial_.tries) work_without_bias(operations_in_ms);
    EXPECT_FALSE(trial_.tries);
  }

  bias_trial trial_;
  std::uint64_t now_ = 5'000 * ms;
  std::uint64_t operations_ = 12'345;
};

TEST_F(trial_of_the_bias, begins_where_waits_take_much_of_the_time) {
  for (std::uint32_t i = 0; i <= trial::enough_waits; ++i) {
    EXPECT_FALSE(is_paused()) << i;
    work(2, 1'000);
    wait(ms);
  }
  EXPECT_TRUE(is_paused());
}

TEST_F(trial_of_the_bias, does_not_begin_where_waits_take_little_of_the_time) {
  for (int i = 0; i < 1'000; ++i) {
    work(21, 1'000);
    wait(ms);
    EXPECT_FALSE(is_paused());
  }
}

TEST_F(trial_of_the_bias, does_not_begin_for_waits_that_do_not_belong_together) {
  for (int i = 0; i < 1'000; ++i) {
    work(501, 1'000);
    wait(300 * ms);
    EXPECT_FALSE(is_paused());
  }
}

TEST_F(trial_of_the_bias, is_over_soon_if_much_less_is_done_without) {
  const std::uint64_t with = work_with_bias(1'000);
  EXPECT_LE(left(), with / 4);
  work_without_bias(700);
  EXPECT_FALSE(is_paused());
}

TEST_F(trial_of_the_bias, is_won_by_the_bias_unless_clearly_more_is_done_without) {
  work_with_bias(1'000);
  work_without_bias(1'040);
  EXPECT_TRUE(is_paused()) << "not clear yet";
  work_without_bias(1'040);
  EXPECT_FALSE(is_paused());
}

TEST_F(trial_of_the_bias, leaves_locks_without_bias_where_clearly_more_is_done_then) {
  work_with_bias(1'000);
  try_without_bias(1'500);
  EXPECT_TRUE(is_paused());
  work_without_bias(1'500);
  EXPECT_FALSE(is_paused()) << "it is tried again";
  work_with_bias(1'000);
  EXPECT_TRUE(is_paused());
}

// Bounds what the way costs that loses.
TEST_F(trial_of_the_bias, is_repeated_less_and_less_often_while_the_same_way_wins) {
  for (const std::uint64_t without : {500U, 1'500U}) {
    SCOPED_TRACE(without);
    std::uint64_t before = 0;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t start = now_;
      work_with_bias(1'000);
      const std::uint64_t with = now_ - start;
      try_without_bias(without);
      const std::uint64_t rest = is_paused() ? left() : trial_.next_trial - now_;
      if (is_paused()) work_without_bias(without);
      if (i == 0) {
        EXPECT_GE(rest, 32 * 16 * ms);
        EXPECT_LE(rest, 32 * with);
      } else {
        EXPECT_GE(rest, std::min<std::uint64_t>(before, 4'000 * ms));
      }
      EXPECT_LE(rest, 10'000 * ms);
      before = rest;
    }
    EXPECT_GE(before, 4'000 * ms);
  }
}

TEST_F(trial_of_the_bias, is_repeated_soon_once_the_other_way_has_won) {
  for (int i = 0; i < 5; ++i) {
    work_with_bias(1'000);
    try_without_bias(500);
  }
  const std::uint64_t length = work_with_bias(1'000);
  EXPECT_GT(length, 4'000 * ms) << "the rest is over only then";
  try_without_bias(2'000);
  EXPECT_LE(left(), 33 * 20 * ms);
}

TEST_F(trial_of_the_bias, has_a_stretch_before_it_that_is_not_too_short_to_tell) {
  for (int i = 0; i < 1'000 && !is_paused(); ++i) {
    now_ += 20'000;
    wait(10'000);
  }
  EXPECT_TRUE(is_paused());
  EXPECT_GE(trial_.time_with_bias, 2 * ms);
}

// --- Of a domain ---------------------------------------------------------------------------------

class paused_bias : public testing::Test {
 protected:
  bias_trial& trial_ = bias_trials[0];
  void pause() { trial_.pause_ends.store(platform::now() + 3'600'000 * ms); }
  void TearDown() override {
    trial_.pause_ends.store(0);
    trial_.began = 0;
    trial_.next_trial = 0;
    trial_.tries = false;
    trial_.in_use.store(0);
  }
};

TEST_F(paused_bias, is_given_neither_by_readers_nor_by_writers) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    pause();
    EXPECT_FALSE(test::earn_bias(lock, how));
    lock.balance.store(bias::highest);
    test::write(lock, how);
    EXPECT_FALSE(test::is_biased(lock));
    trial_.pause_ends.store(0);
    EXPECT_TRUE(test::earn_bias(lock, how));
  }
}

TEST_F(paused_bias, stays_with_locks_that_nobody_writes) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  pause();
  test::read(lock, 1'000);
  EXPECT_TRUE(test::is_biased(lock));
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST_F(paused_bias, is_given_again_by_the_first_that_finds_the_pause_over) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  trial_.in_use.store(0);
  trial_.pause_ends.store(1);
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_TRUE(test::is_biased(lock));
  EXPECT_EQ(trial_.pause_ends.load(), 0U);
}

TEST_F(paused_bias, ends_in_a_child) {
  rwlock lock;
  pause();
  trial_.in_use.store(1);
  test::in_a_child([&] {
    EXPECT_EQ(trial_.in_use.load(), 0U);
    EXPECT_TRUE(test::earn_bias(lock));
  });
}

TEST_F(paused_bias, is_not_left_to_the_next_domain_of_that_number) {
  std::optional<readmost::lock_domain> first(std::in_place);
  const unsigned number = first->number();
  bias_trials[number].pause_ends.store(platform::now() + 3'600'000 * ms);
  first.reset();
  const readmost::lock_domain second;
  ASSERT_EQ(second.number(), number);
  EXPECT_FALSE(is_bias_paused(number));
}

// A handler may have interrupted the thread that uses the trial.
TEST_F(paused_bias, changes_nothing_while_another_is_at_it) {
  rwlock lock;
  trial_.pause_ends.store(1);
  trial_.in_use.store(1);
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_FALSE(test::is_biased(lock));
  note_long_revocation(0, ms);
  EXPECT_EQ(trial_.began, 0U);
}

TEST_F(paused_bias, comes_from_revocations_that_take_long) {
  const auto revoke = [](std::uint64_t took) {
    rwlock lock;
    bias::account_for_revocation(lock, enlist(), {1, round_kind::membarrier, took}, false);
  };
  revoke(bias::longest_counted_wait);
  EXPECT_EQ(trial_.began, 0U);
  revoke(bias::longest_counted_wait + 1);
  EXPECT_NE(trial_.began, 0U);
}

TEST_F(paused_bias, depends_on_all_operations_of_all_threads) {
  rwlock biased, other;
  helper_thread thread;
  ASSERT_TRUE(test::earn_bias(biased));
  trial_.in_use.store(0);
  test::keep_without_bias(other);
  note_long_revocation(0, ms);
  const std::uint64_t before = trial_.operations;
  constexpr int reads = 1'000;
  constexpr int writes = 10;
  test::read(biased, reads);
  test::read(other, reads);
  thread.call([&] {
    test::read(biased, reads);
    test::read(other, reads);
    for (int i = 0; i < writes; ++i) test::write(other);
  });
  trial_.began = 0;
  note_long_revocation(0, ms);
  EXPECT_EQ(trial_.operations - before, 4 * reads + writes);
}

}  // namespace
