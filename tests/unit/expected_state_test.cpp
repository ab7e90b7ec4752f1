// SPDX-License-Identifier: Apache-2.0
// Fast paths that expect a state of the lock without having loaded it: what they expect may be
// wrong.
#include <gtest/gtest.h>

#include <vector>

#include "lock/bias.hpp"
#include "support/helper_thread.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

constexpr rules noting{};
constexpr rules not_noting{.prefers = readmost::preference::reader, .noted = false};

class expected_state : public testing::TestWithParam<rules> {
 protected:
  void SetUp() override { test::read(lock, 1, GetParam()); }

  // The state of a lock that has been used and is free.
  std::uint64_t free_state() const { return rwlock::free_state(GetParam().noted); }

  int write() {
    const std::uint16_t before = lock.writer_exits.load();
    if (test::lock(lock, GetParam()) != test::acquired) return -1;
    EXPECT_NE(lock.state.load() & rwlock::writing, 0U);
    test::unlock(lock, GetParam());
    return static_cast<std::uint16_t>(lock.writer_exits.load() - before);
  }

  rwlock lock;
};

INSTANTIATE_TEST_SUITE_P(with_and_without_notes, expected_state,
                         testing::Values(noting, not_noting), [](const auto& info) {
                           return info.param.noted ? "noting" : "not_noting";
                         });

TEST_P(expected_state, of_a_free_lock_is_right) {
  test::keep_without_bias(lock);
  EXPECT_EQ(lock.state.load(), free_state());
  lock.balance.store(0);
  const bool noted = GetParam().noted;
  EXPECT_TRUE(try_lock_exclusive_fast(lock, my_record(),
                                      noted ? likely_free<true>(lock) : likely_free<false>(lock)));
  test::unlock(lock, GetParam());
  EXPECT_EQ(lock.state.load(), free_state());
}

TEST_P(expected_state, counts_a_write_once) {
  test::keep_without_bias(lock);
  EXPECT_EQ(write(), 1);
  EXPECT_EQ(lock.state.load(), free_state());
}

TEST_P(expected_state, that_is_wrong_counts_a_write_of_a_biased_lock_once) {
  for (const std::int32_t balance : {bias::highest, 1, 0, -1, bias::lowest}) {
    ASSERT_TRUE(test::earn_bias(lock, GetParam()));
    lock.balance.store(static_cast<std::int16_t>(balance));
    EXPECT_EQ(write(), 1) << balance;
    EXPECT_EQ(lock.state.load() & rwlock::writing, 0U);
    lock.balance.store(0);
  }
}

TEST_P(expected_state, that_is_wrong_counts_a_write_before_which_threads_wait_once) {
  test::keep_without_bias(lock);
  ASSERT_EQ(test::lock(lock, GetParam()), test::acquired);
  helper_thread other;
  other.begin([&] { return test::lock(lock, GetParam()); });
  ASSERT_TRUE(
      test::wait_until([&] { return lock.state.load() != free_state() + rwlock::writing; }));
  const std::uint16_t before = lock.writer_exits.load();
  test::unlock(lock, GetParam());
  ASSERT_EQ(other.end(), test::acquired);
  EXPECT_EQ(static_cast<std::uint16_t>(lock.writer_exits.load() - before), 1);
  other.call([&] { test::unlock(lock, GetParam()); });
  EXPECT_EQ(rwlock::readers(lock.state.load()), 0U);
}

TEST_P(expected_state, that_is_wrong_releases_one_hold_of_several) {
  test::keep_without_bias(lock);
  std::vector<helper_thread> others(3);
  for (helper_thread& other : others) {
    ASSERT_EQ(other.call([&] { return test::lock_shared(lock, GetParam()); }), test::acquired);
  }
  for (std::uint64_t left = others.size(); left != 0; --left) {
    ASSERT_EQ(rwlock::readers(lock.state.load()), left);
    others[left - 1].call([&] { test::unlock_shared(lock); });
  }
  EXPECT_EQ(lock.state.load(), free_state());
}

// The class with the members of std::shared_mutex, whose locks expect notes, as this one does not.
TEST(expected_state_of_another_kind, is_found_out) {
  rwlock lock;
  test::read(lock, 1, not_noting);
  test::keep_without_bias(lock);
  lock.balance.store(0);
  ASSERT_FALSE(try_lock_exclusive_fast(lock, my_record(), likely_free<true>(lock)));
  EXPECT_EQ(lock.state.load(), rwlock::free_state(false));
  ASSERT_EQ(test::lock(lock, not_noting), test::acquired);
  ASSERT_FALSE(try_unlock_exclusive_fast<true>(lock));
  EXPECT_EQ(lock.writer_exits.load(), 0U);
  unlock_exclusive_slow(lock, not_noting);
  EXPECT_EQ(lock.writer_exits.load(), 1U);
  EXPECT_EQ(lock.state.load(), rwlock::free_state(false));
}

}  // namespace
