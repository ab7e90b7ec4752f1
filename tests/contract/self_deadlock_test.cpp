// SPDX-License-Identifier: Apache-2.0
// A thread that requests a lock which it already holds.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using std::chrono::milliseconds;
using test::helper_thread;

void expect_the_writer_is_told(pthread_rwlock_t* lock) {
  ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
  for (const auto& operation : contract::untimed_operations()) {
    EXPECT_EQ(operation.call(lock), operation.tries ? EBUSY : EDEADLK) << operation.name;
  }
  for (const auto& operation : contract::timed_operations()) {
    EXPECT_EQ(contract::call_for(operation, lock, contract::generous_wait), EDEADLK)
        << operation.name;
    EXPECT_EQ(operation.call(lock, &contract::before_the_epoch), EDEADLK) << operation.name;
  }
  EXPECT_EQ(seen_elsewhere(lock), holding::written);
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

TEST(self_deadlock, the_writer_gets_EDEADLK_and_from_try_EBUSY) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    expect_the_writer_is_told(lock);
    expect_the_writer_is_told(lock);
  }
}

TEST(self_deadlock, the_writer_of_a_process_shared_lock_gets_the_same) {
  contract::rwlock lock(PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED);
  expect_the_writer_is_told(lock);
}

TEST(self_deadlock, a_writer_that_got_the_lock_by_try_or_in_time_gets_the_same) {
  for (const auto& v : contract::variants({0, 2})) {
    contract::prepared_lock lock(v);
    ASSERT_EQ(pthread_rwlock_trywrlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_rdlock(lock), EDEADLK);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    const timespec deadline = contract::in(CLOCK_MONOTONIC, contract::generous_wait);
    ASSERT_EQ(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &deadline), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(lock), EDEADLK);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  }
}

// Only the thread that holds the lock for writing gets EDEADLK; for others the lock is merely busy.
TEST(self_deadlock, another_thread_never_gets_EDEADLK) {
  contract::rwlock lock;
  helper_thread other;
  ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
  for (const auto& operation : contract::timed_operations()) {
    EXPECT_EQ(other.call([&] { return contract::call_for(operation, lock, milliseconds(5)); }),
              ETIMEDOUT)
        << operation.name;
  }
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  for (const auto& operation : contract::untimed_operations()) {
    EXPECT_EQ(operation.call(lock), 0) << operation.name << " after the write";
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  }
}

TEST(self_deadlock, a_reader_that_tries_to_write_fails_and_keeps_its_hold) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    for (const auto& operation : contract::timed_operations()) {
      if (!operation.writes) continue;
      EXPECT_EQ(contract::call_for(operation, lock, milliseconds(20)), ETIMEDOUT) << operation.name;
      EXPECT_EQ(operation.call(lock, &contract::before_the_epoch), ETIMEDOUT) << operation.name;
    }
    EXPECT_EQ(seen_elsewhere(lock), holding::read);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

// Another thread releases the read hold that blocks the write, so that the wait ends.
TEST(self_deadlock, a_reader_that_asks_to_write_blocks_until_its_hold_is_released) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    pthread_rwlock_t lock;
    contract::prepare(&lock, v);
    helper_thread reader;
    ASSERT_EQ(reader.call([&] { return pthread_rwlock_rdlock(&lock); }), 0);
    reader.begin([&] { return pthread_rwlock_wrlock(&lock); });
    ASSERT_TRUE(reader.falls_asleep()) << "it got the lock beside its own read hold";
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(reader.end(), 0);
    EXPECT_EQ(seen_elsewhere(&lock), holding::written);
    EXPECT_EQ(reader.call([&] { return pthread_rwlock_unlock(&lock); }), 0);
    EXPECT_EQ(seen_elsewhere(&lock), holding::free);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
  }
}

}  // namespace
