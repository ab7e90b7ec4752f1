// SPDX-License-Identifier: Apache-2.0
// When a bravo lock is biased, by each policy.
#include <gtest/gtest.h>

#include <readmost/bravo.hpp>
#include <shared_mutex>

#include "support/helper_thread.hpp"

namespace {

using readmost::bravo;
using readmost::bravo_paper_policy;
using readmost::bravo_policy;

template <class Bias>
struct with : bravo_policy {
  using bias = Bias;
};

template <class Lock>
void read(Lock& lock, int times) {
  for (int i = 0; i < times; ++i) {
    lock.lock_shared();
    lock.unlock_shared();
  }
}

template <class Lock>
void write(Lock& lock, int times) {
  for (int i = 0; i < times; ++i) {
    lock.lock();
    lock.unlock();
  }
}

TEST(bravo_inhibited_bias, comes_with_the_first_read) {
  bravo<std::shared_mutex, bravo_paper_policy> lock;
  EXPECT_FALSE(lock.is_biased());
  read(lock, 1);
  EXPECT_TRUE(lock.is_biased());
}

TEST(bravo_inhibited_bias, stays_away_for_nine_times_the_cost_of_its_revocation) {
  bravo<std::shared_mutex, bravo_paper_policy> lock;
  read(lock, 2);
  // A reader that keeps the writer waiting makes the revocation expensive.
  lock.lock_shared();
  test::helper_thread writer;
  writer.begin([&] { write(lock, 1); });
  ASSERT_TRUE(test::wait_until([&] { return !lock.is_biased(); }));
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  lock.unlock_shared();
  EXPECT_EQ(writer.end(), 0);
  while (!lock.is_biased()) read(lock, 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5 + 9 * 5));
}

TEST(bravo_inhibited_bias, that_looks_rarely_at_the_clock_comes_later) {
  bravo<std::shared_mutex, with<readmost::inhibited_bias<9, 16>>> lock;
  read(lock, 1);
  const bool at_once = lock.is_biased();
  read(lock, 15);
  EXPECT_TRUE(lock.is_biased());
  bravo<std::shared_mutex, with<readmost::inhibited_bias<9, 16>>> other;
  read(other, 15);
  EXPECT_FALSE(other.is_biased() && at_once);
}

TEST(bravo_drawn_bias, comes_in_one_of_so_many_reads) {
  constexpr int locks = 200;
  int biased_at_once = 0;
  int reads = 0;
  for (int i = 0; i < locks; ++i) {
    bravo<std::shared_mutex, with<readmost::drawn_bias<10>>> lock;
    read(lock, 1);
    if (lock.is_biased()) ++biased_at_once;
    for (++reads; !lock.is_biased(); ++reads) read(lock, 1);
  }
  EXPECT_GT(biased_at_once, 0);
  EXPECT_NEAR(static_cast<double>(reads) / locks, 10, 4);
}

TEST(bravo_weighed_bias, has_to_be_earned) {
  bravo<std::shared_mutex> lock;
  read(lock, 20);
  EXPECT_FALSE(lock.is_biased());
  read(lock, 2000);
  EXPECT_TRUE(lock.is_biased());
}

TEST(bravo_weighed_bias, does_not_come_where_there_are_as_many_writes_as_reads) {
  bravo<std::shared_mutex> lock;
  for (int i = 0; i < 5000; ++i) {
    read(lock, 1);
    write(lock, 1);
    ASSERT_FALSE(lock.is_biased());
  }
}

TEST(bravo_weighed_bias, is_kept_by_a_writer_of_a_lock_that_is_mostly_read) {
  bravo<std::shared_mutex> lock;
  read(lock, 3000);
  for (int i = 0; i < 100; ++i) {
    read(lock, 2000);
    write(lock, 1);
    EXPECT_TRUE(lock.is_biased());
  }
}

TEST(bravo_weighed_bias, goes_when_writers_come_and_comes_when_they_have_gone) {
  bravo<std::shared_mutex> lock;
  read(lock, 3000);
  ASSERT_TRUE(lock.is_biased());
  write(lock, 200);
  EXPECT_FALSE(lock.is_biased());
  read(lock, 3000);
  EXPECT_TRUE(lock.is_biased());
}

// Two locks read alternately: sampling every n-th read must not miss either of them.
TEST(bravo_weighed_bias, comes_to_locks_that_are_read_in_turns) {
  bravo<std::shared_mutex> locks[2];
  for (int i = 0; i < 5000; ++i) {
    for (auto& lock : locks) read(lock, 1);
  }
  EXPECT_TRUE(locks[0].is_biased());
  EXPECT_TRUE(locks[1].is_biased());
}

}  // namespace
