// SPDX-License-Identifier: Apache-2.0
// Deadlines and the clocks that measure them.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <limits>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using std::chrono::milliseconds;
using test::helper_thread;

// Holds the lock in the mode that makes the timed operation wait.
int hold_against(const contract::timed_operation& operation, pthread_rwlock_t* lock) {
  return operation.writes ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock);
}

TEST(time, a_timed_wait_ends_when_its_own_clock_reaches_the_deadline) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    for (const auto& operation : contract::timed_operations()) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      helper_thread holder;
      ASSERT_EQ(holder.call([&] { return hold_against(operation, lock); }), 0);
      const timespec deadline = contract::in(operation.clock, milliseconds(30));
      EXPECT_EQ(operation.call(lock, &deadline), ETIMEDOUT);
      EXPECT_TRUE(contract::reached(operation.clock, deadline)) << "it gave up early";
      EXPECT_EQ(holder.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

TEST(time, a_timed_wait_ends_with_the_lock_when_it_is_released_before_the_deadline) {
  for (const auto& v : contract::variants({0, 2})) {
    for (const auto& operation : contract::timed_operations()) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      helper_thread waiter;
      ASSERT_EQ(hold_against(operation, lock), 0);
      waiter.begin([&] { return contract::call_for(operation, lock, milliseconds(60'000)); });
      ASSERT_TRUE(waiter.falls_asleep());
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(waiter.end(), 0);
      EXPECT_EQ(seen_elsewhere(lock), operation.writes ? holding::written : holding::read);
      EXPECT_EQ(waiter.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    }
  }
}

TEST(time, a_deadline_before_the_epoch_or_in_the_past_is_ETIMEDOUT_when_contended) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    for (const auto& operation : contract::timed_operations()) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      helper_thread other;
      ASSERT_EQ(hold_against(operation, lock), 0);
      for (const timespec& deadline : {timespec{-1, 0}, timespec{-1, 999'999'999}, timespec{0, 0},
                                       timespec{std::numeric_limits<time_t>::min(), 0},
                                       contract::in(operation.clock, milliseconds(-1'000))}) {
        EXPECT_EQ(other.call([&] { return operation.call(lock, &deadline); }), ETIMEDOUT)
            << "tv_sec = " << deadline.tv_sec;
      }
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    }
  }
}

TEST(time, an_expired_deadline_still_acquires_a_lock_that_is_to_be_had) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    for (const auto& operation : contract::timed_operations()) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      for (const timespec& deadline : {contract::before_the_epoch, timespec{0, 0}}) {
        EXPECT_EQ(operation.call(lock, &deadline), 0);
        EXPECT_EQ(seen_elsewhere(lock), operation.writes ? holding::written : holding::read);
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        if (operation.writes) continue;
        helper_thread reader;
        EXPECT_EQ(reader.call([&] { return pthread_rwlock_rdlock(lock); }), 0);
        EXPECT_EQ(operation.call(lock, &deadline), 0) << "beside another reader";
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(reader.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      }
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

TEST(time, a_deadline_at_the_end_of_time_is_waited_for) {
  const timespec deadline{std::numeric_limits<time_t>::max(), 999'999'999};
  for (const auto& operation : contract::timed_operations()) {
    SCOPED_TRACE(operation.name);
    contract::rwlock lock;
    EXPECT_EQ(operation.call(lock, &deadline), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    helper_thread waiter;
    ASSERT_EQ(hold_against(operation, lock), 0);
    waiter.begin([&] { return operation.call(lock, &deadline); });
    ASSERT_TRUE(waiter.falls_asleep());
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(waiter.end(), 0);
    EXPECT_EQ(waiter.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  }
}

void expect_bad_arguments_are_refused(pthread_rwlock_t* lock) {
  for (const auto& operation : contract::timed_operations()) {
    for (const long nanoseconds : {-1L, 1'000'000'000L, std::numeric_limits<long>::max(),
                                   std::numeric_limits<long>::min()}) {
      for (const time_t seconds : {time_t{-1}, time_t{0}, std::numeric_limits<time_t>::max()}) {
        const timespec deadline{seconds, nanoseconds};
        EXPECT_EQ(operation.call(lock, &deadline), EINVAL)
            << operation.name << " with tv_nsec = " << nanoseconds;
      }
    }
  }
  const timespec valid = contract::in(CLOCK_REALTIME, contract::generous_wait);
  for (const clockid_t clock :
       {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME,
        clockid_t{-1}, clockid_t{99}}) {
    EXPECT_EQ(pthread_rwlock_clockrdlock(lock, clock, &valid), EINVAL) << "clock " << clock;
    EXPECT_EQ(pthread_rwlock_clockwrlock(lock, clock, &valid), EINVAL) << "clock " << clock;
  }
}

TEST(time, bad_nanoseconds_or_clocks_are_EINVAL_before_anything_else) {
  for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    for (const auto& v : contract::variants({0, 1, 2})) {
      SCOPED_TRACE(v);
      contract::rwlock lock(v.kind, shared);
      if (v.hot) contract::make_hot(lock);
      {
        SCOPED_TRACE("free");
        expect_bad_arguments_are_refused(lock);
        EXPECT_EQ(seen_elsewhere(lock), holding::free);
      }
      {
        SCOPED_TRACE("held by the caller for reading");
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        expect_bad_arguments_are_refused(lock);
        EXPECT_EQ(seen_elsewhere(lock), holding::read);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(seen_elsewhere(lock), holding::free);
      }
      {
        SCOPED_TRACE("held by the caller for writing");
        ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
        expect_bad_arguments_are_refused(lock);
        EXPECT_EQ(seen_elsewhere(lock), holding::written);
      }
      {
        SCOPED_TRACE("held by another thread for writing");
        helper_thread other;
        EXPECT_EQ(other.call([&] { expect_bad_arguments_are_refused(lock); }), 0);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(seen_elsewhere(lock), holding::free);
      }
    }
  }
}

}  // namespace
