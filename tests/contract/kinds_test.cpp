// SPDX-License-Identifier: Apache-2.0
// The lock kinds: attributes, and whether readers get in while a writer waits.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using std::chrono::milliseconds;
using test::helper_thread;

static_assert(int{PTHREAD_RWLOCK_PREFER_READER_NP} == int{PTHREAD_RWLOCK_DEFAULT_NP});
static_assert(PTHREAD_RWLOCK_PREFER_READER_NP == 0);
static_assert(PTHREAD_RWLOCK_PREFER_WRITER_NP == 1);
static_assert(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP == 2);

TEST(kinds, the_attribute_gives_back_every_kind_and_sharing_that_was_set) {
  pthread_rwlockattr_t attributes;
  ASSERT_EQ(pthread_rwlockattr_init(&attributes), 0);
  int value = -1;
  EXPECT_EQ(pthread_rwlockattr_getkind_np(&attributes, &value), 0);
  EXPECT_EQ(value, PTHREAD_RWLOCK_DEFAULT_NP);
  EXPECT_EQ(pthread_rwlockattr_getpshared(&attributes, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_PRIVATE);
  for (const int kind : {2, 1, 0}) {
    EXPECT_EQ(pthread_rwlockattr_setkind_np(&attributes, kind), 0);
    EXPECT_EQ(pthread_rwlockattr_getkind_np(&attributes, &value), 0);
    EXPECT_EQ(value, kind);
  }
  for (const int shared : {PTHREAD_PROCESS_SHARED, PTHREAD_PROCESS_PRIVATE}) {
    EXPECT_EQ(pthread_rwlockattr_setpshared(&attributes, shared), 0);
    EXPECT_EQ(pthread_rwlockattr_getpshared(&attributes, &value), 0);
    EXPECT_EQ(value, shared);
  }
  EXPECT_EQ(pthread_rwlockattr_destroy(&attributes), 0);
}

TEST(kinds, a_bad_kind_or_sharing_is_refused_and_changes_nothing) {
  pthread_rwlockattr_t attributes;
  ASSERT_EQ(pthread_rwlockattr_init(&attributes), 0);
  ASSERT_EQ(pthread_rwlockattr_setkind_np(&attributes, 2), 0);
  ASSERT_EQ(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
  for (const int bad : {-1, 3, 99}) {
    EXPECT_EQ(pthread_rwlockattr_setkind_np(&attributes, bad), EINVAL) << bad;
  }
  for (const int bad : {-1, 2, 99}) {
    EXPECT_EQ(pthread_rwlockattr_setpshared(&attributes, bad), EINVAL) << bad;
  }
  int value = -1;
  EXPECT_EQ(pthread_rwlockattr_getkind_np(&attributes, &value), 0);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(pthread_rwlockattr_getpshared(&attributes, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_SHARED);
  EXPECT_EQ(pthread_rwlockattr_destroy(&attributes), 0);
}

TEST(kinds, an_attribute_destroyed_and_overwritten_after_init_leaves_the_kind_of_the_lock) {
  pthread_rwlockattr_t attributes;
  ASSERT_EQ(pthread_rwlockattr_init(&attributes), 0);
  ASSERT_EQ(pthread_rwlockattr_setkind_np(&attributes, 2), 0);
  pthread_rwlock_t lock;
  ASSERT_EQ(pthread_rwlock_init(&lock, &attributes), 0);
  ASSERT_EQ(pthread_rwlockattr_setkind_np(&attributes, 0), 0);
  ASSERT_EQ(pthread_rwlockattr_destroy(&attributes), 0);

  helper_thread writer;
  ASSERT_EQ(pthread_rwlock_rdlock(&lock), 0);
  writer.begin([&] { return pthread_rwlock_wrlock(&lock); });
  ASSERT_TRUE(writer.falls_asleep());
  EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
  ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(&lock); }), 0);
  EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(kinds, kinds_0_and_1_permit_a_recursive_read_while_a_writer_waits) {
  for (const auto& v : contract::variants({0, 1})) {
    contract::prepared_lock lock(v);
    helper_thread writer;
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    writer.begin([&] { return pthread_rwlock_wrlock(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    int holds = 1;
    for (const auto& operation : contract::untimed_operations()) {
      if (operation.writes) continue;
      EXPECT_EQ(operation.call(lock), 0) << operation.name;
      ++holds;
    }
    for (const auto& operation : contract::timed_operations()) {
      if (operation.writes) continue;
      EXPECT_EQ(contract::call_for(operation, lock, contract::generous_wait), 0) << operation.name;
      ++holds;
    }
    EXPECT_TRUE(writer.in_call());
    while (holds-- > 0) ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  }
}

TEST(kinds, kind_2_refuses_readers_while_a_writer_waits_also_those_that_hold_it) {
  for (const auto& v : contract::variants({2})) {
    contract::prepared_lock lock(v);
    helper_thread writer, newcomer;
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    writer.begin([&] { return pthread_rwlock_wrlock(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    const auto refused = [&] {
      if (pthread_rwlock_tryrdlock(lock) != EBUSY) return 1;
      for (const auto& operation : contract::timed_operations()) {
        if (operation.writes) continue;
        if (contract::call_for(operation, lock, milliseconds(10)) != ETIMEDOUT) return 2;
      }
      return 0;
    };
    EXPECT_EQ(refused(), 0) << "the holder";
    EXPECT_EQ(newcomer.call(refused), 0) << "a newcomer";
    EXPECT_TRUE(writer.in_call());
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(kinds, kind_2_permits_recursive_reads_while_no_writer_waits) {
  for (const auto& v : contract::variants({2})) {
    contract::prepared_lock lock(v);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    for (int i = 0; i < 300; ++i) {
      if (i % 100 == 0) {
        EXPECT_EQ(seen_elsewhere(lock), holding::read);
      }
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(kinds, recursive_reads_go_hundreds_deep) {
  for (const auto& v : contract::variants({0, 1})) {
    contract::prepared_lock lock(v);
    helper_thread other;
    constexpr int depth = 700;
    for (int i = 0; i < depth; ++i) ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    for (int i = 0; i < depth; ++i) {
      ASSERT_EQ(other.call([&] { return pthread_rwlock_trywrlock(lock); }), EBUSY)
          << depth - i << " holds are left";
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

}  // namespace
