// SPDX-License-Identifier: Apache-2.0
// The locks that can be read without locking: readers see whole writes only.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "rivals/seq_lock.hpp"
#include "rivals/stamped_lock.hpp"

namespace {

struct twins {
  rivals::sequenced<unsigned> first{0};
  rivals::sequenced<unsigned> second{0};

  void raise() {
    first = first + 1;
    second = second + 1;
  }
};

struct seen {
  unsigned first;
  unsigned second;
  bool is_whole() const { return first == second; }
};

// Reads the twins by `look`, which returns half of a write if it runs beside a writer.

struct careful {
  template <class Look>
  static seen read(const rivals::seq_lock& lock, Look look) {
    return lock.read(look);
  }
  template <class Look>
  static seen read(const rivals::stamped_lock& lock, Look look) {
    for (;;) {
      const auto stamp = lock.try_optimistic_read();
      const seen found = look();
      if (lock.validate(stamp)) return found;
      std::this_thread::yield();
    }
  }
};
// Defect: does not validate the data that it has read.
struct careless {
  template <class Look>
  static seen read(const rivals::seq_lock& lock, Look look) {
    lock.begin();
    return look();
  }
  template <class Look>
  static seen read(const rivals::stamped_lock& lock, Look look) {
    lock.try_optimistic_read();
    return look();
  }
};

// A whole write comes between the reads of the two twins.
template <class Lock, class Reader>
bool is_whole_when_written_meanwhile() {
  Lock lock;
  twins data;
  int looks = 0;
  const seen found = Reader::read(lock, [&] {
    const unsigned first = data.first;
    if (looks++ == 0) {
      std::jthread([&] {
        lock.lock();
        data.raise();
        lock.unlock();
      }).join();
    }
    return seen{first, data.second};
  });
  return found.is_whole();
}

// Reads in the middle of a write. The writer continues when the reader has looked, or after a while
// if the reader waits.
template <class Lock, class Reader>
bool is_whole_when_read_in_the_middle() {
  Lock lock;
  twins data;
  std::atomic<bool> half{false};
  std::atomic<bool> looked{false};
  std::jthread writer([&] {
    lock.lock();
    data.first = 1;
    half = true;
    for (int i = 0; i < 100 && !looked; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    data.second = 1;
    lock.unlock();
  });
  while (!half) std::this_thread::yield();
  const seen found = Reader::read(lock, [&] {
    const seen now{data.first, data.second};
    looked = true;
    return now;
  });
  return found.is_whole();
}

// Readers and writers, more than there are CPUs, for a while.
template <class Lock, class Reader>
bool is_whole_under_traffic() {
  Lock lock;
  twins data;
  std::atomic<bool> over{false};
  std::atomic<bool> whole{true};
  std::atomic<unsigned> written{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::thread::hardware_concurrency() + 1; ++i) {
      threads.emplace_back([&] {
        while (!over) {
          lock.lock();
          data.raise();
          lock.unlock();
          ++written;
          std::this_thread::yield();
        }
      });
      threads.emplace_back([&] {
        while (!over) {
          if (!Reader::read(lock, [&] { return seen{data.first, data.second}; }).is_whole()) {
            whole = false;
          }
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    over = true;
  }
  return whole && data.first == written && data.second == written;
}

template <class Lock>
class optimistic : public testing::Test {};
using locks = testing::Types<rivals::seq_lock, rivals::stamped_lock>;
TYPED_TEST_SUITE(optimistic, locks);

TYPED_TEST(optimistic, readers_see_whole_writes) {
  EXPECT_TRUE((is_whole_when_written_meanwhile<TypeParam, careful>()));
  EXPECT_TRUE((is_whole_when_read_in_the_middle<TypeParam, careful>()));
  EXPECT_TRUE((is_whole_under_traffic<TypeParam, careful>()));
}

TYPED_TEST(optimistic, readers_that_do_not_check_see_half_a_write) {
  EXPECT_FALSE((is_whole_when_written_meanwhile<TypeParam, careless>()));
}

TEST(seq_lock, keeps_a_writer_that_tries_away_from_another) {
  rivals::seq_lock lock;
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(seq_lock, has_an_end_for_each_read) {
  rivals::seq_lock lock;
  const auto begun = lock.begin();
  EXPECT_FALSE(lock.is_over(begun));
  lock.lock();
  EXPECT_TRUE(lock.is_over(begun));
  lock.unlock();
  EXPECT_TRUE(lock.is_over(begun));
  EXPECT_FALSE(lock.is_over(lock.begin()));
}

TEST(stamped_lock, gives_half_a_write_in_the_middle_of_one_unless_the_stamp_is_checked) {
  EXPECT_FALSE((is_whole_when_read_in_the_middle<rivals::stamped_lock, careless>()));
}

TEST(stamped_lock, stamps_are_valid_until_the_next_writer) {
  rivals::stamped_lock lock;
  const auto stamp = lock.try_optimistic_read();
  EXPECT_NE(stamp, 0U);
  EXPECT_TRUE(lock.validate(stamp));
  lock.lock_shared();
  EXPECT_TRUE(lock.validate(stamp));
  EXPECT_TRUE(lock.validate(lock.try_optimistic_read()));
  lock.unlock_shared();
  EXPECT_TRUE(lock.validate(stamp));
  lock.lock();
  EXPECT_FALSE(lock.validate(stamp));
  EXPECT_EQ(lock.try_optimistic_read(), 0U);
  EXPECT_FALSE(lock.validate(0));
  lock.unlock();
  EXPECT_FALSE(lock.validate(stamp));
  EXPECT_FALSE(lock.validate(0));
  EXPECT_TRUE(lock.validate(lock.try_optimistic_read()));
}

}  // namespace
