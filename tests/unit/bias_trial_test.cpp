// SPDX-License-Identifier: Apache-2.0
// What the threads of a domain find out about the bias where revocations take long.
#include "lock/bias_trial.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <readmost/lock_domain.hpp>

#include "lock/bias.hpp"
#include "statistics/lock_statistics.hpp"
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
  // Waits for half of the time until fences are tried; the nanoseconds after which that came.
  std::uint64_t work_with_rounds(std::uint64_t operations_in_ms) {
    const std::uint64_t start = now_;
    for (int i = 0; i < 100'000 && !has_fences(); ++i) {
      work(2, operations_in_ms);
      wait(ms);
    }
    return now_ - start;
  }
  bool has_fences() const { return trial_.fences_end.load() != 0; }
  // The nanoseconds of fences from now on.
  std::uint64_t left() const { return has_fences() ? trial_.fences_end.load() - now_ : 0; }
  // Until the end of the time of fences, or what is its end for now.
  void work_with_fences(std::uint64_t operations_in_ms) {
    work(left() / ms, operations_in_ms);
    trial::end_fences(trial_, now_, [this] { return operations_; });
  }
  // The same with both parts of that time.
  void try_fences(std::uint64_t operations_in_ms) {
    work_with_fences(operations_in_ms);
    if (has_fences() && trial_.tries) work_with_fences(operations_in_ms);
    EXPECT_FALSE(trial_.tries);
  }

  bias_trial trial_;
  std::uint64_t now_ = 5'000 * ms;
  std::uint64_t operations_ = 12'345;
};

TEST_F(trial_of_the_bias, begins_where_waits_take_much_of_the_time) {
  for (std::uint32_t i = 0; i <= trial::enough_waits; ++i) {
    EXPECT_FALSE(has_fences()) << i;
    work(2, 1'000);
    wait(ms);
  }
  EXPECT_TRUE(has_fences());
}

TEST_F(trial_of_the_bias, does_not_begin_where_waits_take_little_of_the_time) {
  for (int i = 0; i < 1'000; ++i) {
    work(21, 1'000);
    wait(ms);
    EXPECT_FALSE(has_fences());
  }
}

TEST_F(trial_of_the_bias, does_not_begin_for_waits_that_do_not_belong_together) {
  for (int i = 0; i < 1'000; ++i) {
    work(501, 1'000);
    wait(300 * ms);
    EXPECT_FALSE(has_fences());
  }
}

TEST_F(trial_of_the_bias, is_over_soon_if_much_less_is_done_with_fences) {
  const std::uint64_t rounds = work_with_rounds(1'000);
  EXPECT_LE(left(), rounds / 4);
  work_with_fences(700);
  EXPECT_FALSE(has_fences());
}

TEST_F(trial_of_the_bias, is_won_by_the_usual_bias_unless_clearly_more_is_done_with_fences) {
  work_with_rounds(1'000);
  work_with_fences(1'040);
  EXPECT_TRUE(has_fences()) << "not clear yet";
  work_with_fences(1'040);
  EXPECT_FALSE(has_fences());
}

TEST_F(trial_of_the_bias, keeps_fences_where_clearly_more_is_done_with_them) {
  work_with_rounds(1'000);
  try_fences(1'500);
  EXPECT_TRUE(has_fences());
  work_with_fences(1'500);
  EXPECT_FALSE(has_fences()) << "it is tried again";
  work_with_rounds(1'000);
  EXPECT_TRUE(has_fences());
}

// Bounds what the way costs that loses.
TEST_F(trial_of_the_bias, is_repeated_less_and_less_often_while_the_same_way_wins) {
  for (const std::uint64_t fenced : {500U, 1'500U}) {
    SCOPED_TRACE(fenced);
    std::uint64_t before = 0;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t start = now_;
      work_with_rounds(1'000);
      const std::uint64_t rounds = now_ - start;
      try_fences(fenced);
      const std::uint64_t rest = has_fences() ? left() : trial_.next_trial - now_;
      if (has_fences()) work_with_fences(fenced);
      if (i == 0) {
        EXPECT_GE(rest, trial::first_rest * trial::enough_waits * 2 * ms);
        EXPECT_LE(rest, trial::first_rest * rounds);
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
  for (int i = 0; i < 6; ++i) {
    work_with_rounds(1'000);
    try_fences(500);
  }
  const std::uint64_t length = work_with_rounds(1'000);
  EXPECT_GT(length, 4'000 * ms) << "the rest is over only then";
  try_fences(2'000);
  EXPECT_LE(left(), trial::first_rest * (trial::enough_waits + 2) * 2 * ms);
}

TEST_F(trial_of_the_bias, has_a_stretch_before_it_that_is_not_too_short_to_tell) {
  for (int i = 0; i < 1'000 && !has_fences(); ++i) {
    now_ += 20'000;
    wait(10'000);
  }
  EXPECT_TRUE(has_fences());
  EXPECT_GE(trial_.time_with_rounds, 2 * ms);
}

// --- Of a domain ---------------------------------------------------------------------------------

class bias_by_trial : public testing::Test {
 protected:
  bias_trial& trial_ = bias_trials[0];
  void choose_fences() { trial_.fences_end.store(platform::now() + 3'600'000 * ms); }
  void TearDown() override {
    trial_.fences_end.store(0);
    trial_.began = 0;
    trial_.next_trial = 0;
    trial_.tries = false;
    trial_.in_use.store(0);
  }
};

TEST_F(bias_by_trial, is_given_by_fences_by_readers_and_by_writers) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    choose_fences();
    EXPECT_TRUE(test::earn_bias(lock, how));
    EXPECT_TRUE(test::is_biased_by_fences(lock));
    lock.balance.store(bias::highest);
    test::write(lock, how);
    EXPECT_TRUE(test::is_biased_by_fences(lock));
    trial_.fences_end.store(0);
    lock.balance.store(bias::highest);
    test::write(lock, how);
    EXPECT_TRUE(test::is_biased(lock));
  }
}

TEST_F(bias_by_trial, is_by_fences_from_the_next_revocation_on) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  choose_fences();
  test::read(lock, 2'000);
  EXPECT_TRUE(test::is_biased(lock));
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_TRUE(test::is_biased_by_fences(lock));
}

TEST_F(bias_by_trial, is_the_usual_one_again_for_locks_that_are_only_read) {
  for (const bool statistics : {false, true}) {
    test::in_a_child([&] {
      if (statistics) enable_lock_statistics(false);
      rwlock lock;
      choose_fences();
      ASSERT_TRUE(test::earn_bias(lock));
      test::read(lock, 2'000);
      EXPECT_TRUE(test::is_biased_by_fences(lock));
      trial_.in_use.store(0);
      trial_.fences_end.store(1);
      test::read(lock, 1'024);
      EXPECT_TRUE(test::has_bias(lock));
      EXPECT_FALSE(test::is_biased_by_fences(lock));
      EXPECT_EQ(test::is_biased(lock), !statistics);
      EXPECT_EQ(trial_.fences_end.load(), 0U);
    });
  }
}

TEST_F(bias_by_trial, is_the_usual_one_again_by_the_first_writer_that_finds_the_fences_over) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  trial_.in_use.store(0);
  trial_.fences_end.store(1);
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_TRUE(test::is_biased(lock));
  EXPECT_EQ(trial_.fences_end.load(), 0U);
}

TEST_F(bias_by_trial, ends_in_a_child) {
  rwlock lock;
  choose_fences();
  trial_.in_use.store(1);
  test::in_a_child([&] {
    EXPECT_EQ(trial_.in_use.load(), 0U);
    EXPECT_TRUE(test::earn_bias(lock));
    EXPECT_TRUE(test::is_biased(lock));
  });
}

TEST_F(bias_by_trial, is_not_left_to_the_next_domain_of_that_number) {
  std::optional<readmost::lock_domain> first(std::in_place);
  const unsigned number = first->number();
  bias_trials[number].fences_end.store(platform::now() + 3'600'000 * ms);
  first.reset();
  const readmost::lock_domain second;
  ASSERT_EQ(second.number(), number);
  EXPECT_FALSE(are_fences_chosen(number));
}

// A handler may have interrupted the thread that uses the trial.
TEST_F(bias_by_trial, changes_nothing_while_another_is_at_it) {
  rwlock lock;
  trial_.fences_end.store(1);
  trial_.in_use.store(1);
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_FALSE(test::is_biased(lock));
  EXPECT_EQ(trial_.fences_end.load(), 1U);
  note_long_revocation(0, ms);
  EXPECT_EQ(trial_.began, 0U);
}

TEST_F(bias_by_trial, comes_from_revocations_that_take_long) {
  const auto revoke = [](std::uint64_t took) {
    rwlock lock;
    bias::account_for_revocation(lock, enlist(), {1, round_kind::membarrier, took}, false);
  };
  revoke(bias::longest_counted_wait);
  EXPECT_EQ(trial_.began, 0U);
  revoke(bias::longest_counted_wait + 1);
  EXPECT_NE(trial_.began, 0U);
}

TEST_F(bias_by_trial, depends_on_all_operations_of_all_threads) {
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
