// SPDX-License-Identifier: Apache-2.0
// Many holds, many locks, and many of both at once.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "configuration.hpp"
#include "locks.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;

// Readmost counts up to 8,388,607 active readers beside the passive ones; a thread has few of
// those.
constexpr int readmost_active_readers = 8'388'607;
constexpr int more_than_anyone_has_passively = 100'000;

TEST(limits, a_reader_too_many_gets_EAGAIN_from_every_operation_and_the_lock_stays_sound) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int holds = 0;
  int result = 0;
  while (result == 0 && holds < readmost_active_readers + more_than_anyone_has_passively) {
    result = pthread_rwlock_rdlock(&lock);
    if (result == 0) ++holds;
  }
  if (contract::readmost_rules()) {
    EXPECT_EQ(result, EAGAIN) << "after " << holds << " holds";
    EXPECT_GE(holds, readmost_active_readers);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), EAGAIN);
    for (const auto& operation : contract::timed_operations()) {
      if (operation.writes) continue;
      EXPECT_EQ(contract::call_for(operation, &lock, contract::generous_wait), EAGAIN)
          << operation.name;
    }
  } else {
    EXPECT_EQ(result, 0) << "after " << holds << " holds";
  }
  EXPECT_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
  while (holds > 1) {
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    --holds;
  }
  EXPECT_EQ(seen_elsewhere(&lock), holding::read);
  ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
  EXPECT_EQ(seen_elsewhere(&lock), holding::free);
}

// glibc's count ends at 2^28, too many to lock one by one, so the test sets the count just below
// it. The same applies to a process-shared lock under Readmost, which delegates it to glibc.
TEST(limits, the_reader_too_many_for_glibc_gets_EAGAIN) {
  contract::rwlock lock(PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED);
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  unsigned& readers = static_cast<pthread_rwlock_t*>(lock)->__data.__readers;
  const unsigned one_reader = readers;
  readers = (1U << 31) - 8;
  EXPECT_EQ(pthread_rwlock_rdlock(lock), EAGAIN);
  EXPECT_EQ(pthread_rwlock_tryrdlock(lock), EAGAIN);
  for (const auto& operation : contract::timed_operations()) {
    if (operation.writes) continue;
    EXPECT_EQ(contract::call_for(operation, lock, contract::generous_wait), EAGAIN)
        << operation.name;
  }
  readers = one_reader;
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

std::vector<std::size_t> shuffled(std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  return order;
}

TEST(limits, one_thread_holds_10000_locks_at_once_and_releases_them_in_any_order) {
  constexpr std::size_t count = 10'000;
  std::vector<pthread_rwlock_t> locks(count, pthread_rwlock_t PTHREAD_RWLOCK_INITIALIZER);
  helper_thread other;
  const auto tries_to_write = [&](std::size_t i) {
    return other.call([&] {
      const int result = pthread_rwlock_trywrlock(&locks[i]);
      if (result == 0) pthread_rwlock_unlock(&locks[i]);
      return result;
    });
  };
  for (auto& lock : locks) ASSERT_EQ(pthread_rwlock_rdlock(&lock), 0);
  for (std::size_t i = 0; i < count; i += 50) ASSERT_EQ(tries_to_write(i), EBUSY) << "lock " << i;
  int released = 0;
  for (const std::size_t i : shuffled(count)) {
    const bool look = released++ % 50 == 0;
    if (look) {
      ASSERT_EQ(tries_to_write(i), EBUSY) << "lock " << i;
    }
    ASSERT_EQ(pthread_rwlock_unlock(&locks[i]), 0);
    if (look) {
      ASSERT_EQ(tries_to_write(i), 0) << "lock " << i;
    }
  }
  for (auto& lock : locks) ASSERT_EQ(pthread_rwlock_trywrlock(&lock), 0);
  for (const std::size_t i : shuffled(count)) ASSERT_EQ(pthread_rwlock_unlock(&locks[i]), 0);
}

TEST(limits, ten_thousand_locks_are_read_and_written_by_turns) {
  std::vector<pthread_rwlock_t> locks(10'000, pthread_rwlock_t PTHREAD_RWLOCK_INITIALIZER);
  for (int round = 0; round < 20; ++round) {
    for (auto& lock : locks) {
      ASSERT_EQ(round % 5 == 4 ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock), 0);
      ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    }
  }
}

TEST(limits, each_of_many_hot_locks_is_released_by_its_own_unlock_only) {
  constexpr std::size_t count = 40;
  std::vector<std::size_t> upwards(count);
  std::iota(upwards.begin(), upwards.end(), std::size_t{0});
  const std::vector<std::size_t> downwards(upwards.rbegin(), upwards.rend());
  for (const int kind : {0, 2}) {
    std::vector<std::unique_ptr<contract::rwlock>> locks;
    for (std::size_t i = 0; i < count; ++i) {
      locks.push_back(std::make_unique<contract::rwlock>(kind));
      contract::make_hot(*locks.back());
    }
    helper_thread other;
    const auto held = [&](std::size_t i) {
      return other.call([&] {
        const int result = pthread_rwlock_trywrlock(*locks[i]);
        if (result == 0) pthread_rwlock_unlock(*locks[i]);
        return result;
      });
    };
    for (const auto& order : {upwards, downwards, shuffled(count)}) {
      for (auto& lock : locks) ASSERT_EQ(pthread_rwlock_rdlock(*lock), 0);
      std::vector<bool> released(count, false);
      for (const std::size_t next : order) {
        ASSERT_EQ(pthread_rwlock_unlock(*locks[next]), 0);
        released[next] = true;
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(held(i), released[i] ? 0 : EBUSY) << "lock " << i << " of kind " << kind;
        }
      }
      for (auto& lock : locks) contract::make_hot(*lock);
    }
  }
}

// Some of the holds find no passive slot; the counts must be right whichever these are.
TEST(limits, recursive_holds_of_several_hot_locks_are_counted_apart) {
  contract::rwlock locks[4];
  for (auto& lock : locks) contract::make_hot(lock);
  std::mt19937 random(11);
  int holds[4] = {};
  helper_thread other;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % 4;
    if (holds[i] < 30 && random() % 2 == 0) {
      ASSERT_EQ(pthread_rwlock_rdlock(locks[i]), 0);
      ++holds[i];
    } else if (holds[i] > 0) {
      ASSERT_EQ(pthread_rwlock_unlock(locks[i]), 0);
      --holds[i];
    }
    if (step % 10 != 0) continue;
    ASSERT_EQ(other.call([&] {
      const int result = pthread_rwlock_trywrlock(locks[i]);
      if (result == 0) pthread_rwlock_unlock(locks[i]);
      return result;
    }),
              holds[i] > 0 ? EBUSY : 0);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    while (holds[i]-- > 0) ASSERT_EQ(pthread_rwlock_unlock(locks[i]), 0);
    EXPECT_EQ(seen_elsewhere(locks[i]), holding::free);
  }
}

}  // namespace
