// SPDX-License-Identifier: Apache-2.0
// Checks which calls the C functions refuse, and that a refused call changes nothing.
#include <gtest/gtest.h>
#include <readmost.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <readmost/detail/lock/rwlock.hpp>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using readmost::detail::rwlock;
using test::helper_thread;

constexpr timespec long_ago{1, 0};
constexpr timespec end_of_time{std::int64_t{1} << 40, 0};

rwlock& core_of(readmost_rwlock_t& lock) {
  return reinterpret_cast<rwlock&>(lock);
}

bool is_free(readmost_rwlock_t& lock) {
  const bool locked = readmost_rwlock_trywrlock(&lock) == 0;
  if (locked) readmost_rwlock_wrunlock(&lock);
  return locked;
}

TEST(errors, bad_nanoseconds_and_clocks_are_EINVAL_before_anything_else) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  for (const long nanoseconds : {-1L, 1'000'000'000L}) {
    const timespec bad{end_of_time.tv_sec, nanoseconds};
    EXPECT_EQ(readmost_rwlock_timedrdlock(&lock, &bad), EINVAL);
    EXPECT_EQ(readmost_rwlock_timedwrlock(&lock, &bad), EINVAL);
    EXPECT_EQ(readmost_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &bad), EINVAL);
    EXPECT_EQ(readmost_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &bad), EINVAL);
    EXPECT_EQ(readmost_rwlock_clockupgrade(&lock, CLOCK_MONOTONIC, &bad), EINVAL);
  }
  for (const clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME, clockid_t{-1}}) {
    EXPECT_EQ(readmost_rwlock_clockrdlock(&lock, clock, &end_of_time), EINVAL);
    EXPECT_EQ(readmost_rwlock_clockwrlock(&lock, clock, &end_of_time), EINVAL);
    EXPECT_EQ(readmost_rwlock_clockupgrade(&lock, clock, &end_of_time), EINVAL);
  }
  EXPECT_TRUE(is_free(lock));
}

TEST(errors, a_bad_preference_is_EINVAL_and_changes_nothing) {
  readmost_rwlockattr_t attributes;
  readmost_rwlockattr_init(&attributes);
  readmost_rwlockattr_setpreference(&attributes, READMOST_PREFER_READER);
  for (const int bad : {-1, 3, 1 << 20}) {
    EXPECT_EQ(readmost_rwlockattr_setpreference(&attributes, bad), EINVAL);
  }
  int kept = -1;
  readmost_rwlockattr_getpreference(&attributes, &kept);
  EXPECT_EQ(kept, READMOST_PREFER_READER);
}

TEST(errors, destroyed_attributes_are_EINVAL_and_the_memory_is_not_touched) {
  readmost_rwlockattr_t attributes;
  readmost_rwlockattr_init(&attributes);
  readmost_rwlockattr_destroy(&attributes);
  readmost_rwlock_t lock;
  std::memset(&lock, 0xAA, sizeof lock);
  const readmost_rwlock_t before = lock;
  EXPECT_EQ(readmost_rwlock_init(&lock, &attributes), EINVAL);
  EXPECT_EQ(std::memcmp(&lock, &before, sizeof lock), 0);
}

TEST(errors, a_reader_too_many_is_EAGAIN) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  const auto full = static_cast<std::uint64_t>(rwlock::max_readers) << rwlock::readers_shift;
  core_of(lock).state = full;
  EXPECT_EQ(readmost_rwlock_rdlock(&lock), EAGAIN);
  EXPECT_EQ(readmost_rwlock_tryrdlock(&lock), EAGAIN);
  EXPECT_EQ(readmost_rwlock_timedrdlock(&lock, &end_of_time), EAGAIN);
  EXPECT_EQ(readmost_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &end_of_time), EAGAIN);
  EXPECT_EQ(rwlock::readers(core_of(lock).state), rwlock::max_readers);
}

TEST(errors, releasing_what_nobody_holds_is_EPERM) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  EXPECT_EQ(readmost_rwlock_rdunlock(&lock), EPERM);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), EPERM);
  EXPECT_EQ(readmost_rwlock_downgrade(&lock), EPERM);
  ASSERT_EQ(readmost_rwlock_rdlock(&lock), 0);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), EPERM);
  EXPECT_EQ(readmost_rwlock_downgrade(&lock), EPERM);
  EXPECT_EQ(readmost_rwlock_rdunlock(&lock), 0);
  EXPECT_TRUE(is_free(lock));
}

TEST(errors, upgrading_a_lock_that_one_holds_twice_is_EDEADLK_and_by_try_EBUSY) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  ASSERT_EQ(readmost_rwlock_rdlock(&lock), 0);
  ASSERT_EQ(readmost_rwlock_rdlock(&lock), 0);
  EXPECT_EQ(readmost_rwlock_upgrade(&lock), EDEADLK);
  EXPECT_EQ(readmost_rwlock_clockupgrade(&lock, CLOCK_MONOTONIC, &end_of_time), EDEADLK);
  EXPECT_EQ(readmost_rwlock_tryupgrade(&lock), EBUSY);
  EXPECT_EQ(readmost_rwlock_rdunlock(&lock), 0);
  EXPECT_EQ(readmost_rwlock_upgrade(&lock), 0);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), 0);
  EXPECT_TRUE(is_free(lock));
}

TEST(errors, upgrading_beside_another_upgrade_is_EDEADLK_and_by_try_EBUSY) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  helper_thread first;
  ASSERT_EQ(first.call([&] { return readmost_rwlock_rdlock(&lock); }), 0);
  ASSERT_EQ(readmost_rwlock_rdlock(&lock), 0);
  first.begin([&] { return readmost_rwlock_upgrade(&lock); });
  ASSERT_TRUE(first.falls_asleep());
  EXPECT_EQ(readmost_rwlock_upgrade(&lock), EDEADLK);
  EXPECT_EQ(readmost_rwlock_clockupgrade(&lock, CLOCK_MONOTONIC, &end_of_time), EDEADLK);
  EXPECT_EQ(readmost_rwlock_tryupgrade(&lock), EBUSY);
  EXPECT_TRUE(first.in_call());
  EXPECT_EQ(readmost_rwlock_rdunlock(&lock), 0);
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), 0);
  EXPECT_TRUE(is_free(lock));
}

TEST(errors, a_domain_too_many_is_EAGAIN_until_one_is_destroyed) {
  std::vector<readmost_domain_t*> made;
  readmost_domain_t* domain = nullptr;
  int result = 0;
  while ((result = readmost_domain_create(&domain)) == 0) {
    made.push_back(domain);
    ASSERT_LT(made.size(), readmost::detail::max_domains);
  }
  EXPECT_EQ(result, EAGAIN);
  EXPECT_EQ(made.size(), readmost::detail::max_domains - 1);
  EXPECT_EQ(readmost_domain_destroy(made.back()), 0);
  EXPECT_EQ(readmost_domain_create(&made.back()), 0);
  EXPECT_EQ(readmost_domain_create(&domain), EAGAIN);
  for (readmost_domain_t* each : made) EXPECT_EQ(readmost_domain_destroy(each), 0);
}

TEST(errors, the_domain_of_the_process_cannot_be_destroyed) {
  EXPECT_EQ(readmost_domain_destroy(nullptr), EINVAL);
}

TEST(errors, errno_is_left_alone) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  helper_thread reader;
  ASSERT_EQ(reader.call([&] { return readmost_rwlock_rdlock(&lock); }), 0);
  errno = ENOTTY;
  EXPECT_EQ(readmost_rwlock_trywrlock(&lock), EBUSY);
  EXPECT_EQ(readmost_rwlock_timedwrlock(&lock, &long_ago), ETIMEDOUT);
  EXPECT_EQ(readmost_rwlock_clockwrlock(&lock, clockid_t{-1}, &long_ago), EINVAL);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(reader.call([&] { return readmost_rwlock_rdunlock(&lock); }), 0);
}

}  // namespace
