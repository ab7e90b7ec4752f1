// SPDX-License-Identifier: Apache-2.0
// Checks that a lock is what its attributes or its initialiser request.
#include <gtest/gtest.h>
#include <readmost.h>

#include <cerrno>
#include <readmost/lock_domain.hpp>

#include "support/helper_thread.hpp"

namespace {

using readmost::preference;
using readmost::detail::rwlock;
using test::helper_thread;

rwlock& core_of(readmost_rwlock_t& lock) {
  return reinterpret_cast<rwlock&>(lock);
}

readmost_rwlock_t made_with(int prefers, readmost_domain_t* domain = nullptr) {
  readmost_rwlockattr_t attributes;
  readmost_rwlockattr_init(&attributes);
  readmost_rwlockattr_setpreference(&attributes, prefers);
  readmost_rwlockattr_setdomain(&attributes, domain);
  readmost_rwlock_t lock;
  EXPECT_EQ(readmost_rwlock_init(&lock, &attributes), 0);
  return lock;
}

// The result of a new reader's attempt while another reader holds the lock and a writer waits.
int result_behind_a_waiting_writer(readmost_rwlock_t& lock) {
  helper_thread writer;
  EXPECT_EQ(readmost_rwlock_rdlock(&lock), 0);
  writer.begin([&] {
    const int result = readmost_rwlock_wrlock(&lock);
    return result != 0 ? result : readmost_rwlock_wrunlock(&lock);
  });
  EXPECT_TRUE(writer.falls_asleep());
  helper_thread reader;
  const int result = reader.call([&] {
    const int got = readmost_rwlock_tryrdlock(&lock);
    if (got == 0) readmost_rwlock_rdunlock(&lock);
    return got;
  });
  EXPECT_EQ(readmost_rwlock_rdunlock(&lock), 0);
  EXPECT_EQ(writer.end(), 0);
  return result;
}

void expect_preference(readmost_rwlock_t lock, preference prefers) {
  EXPECT_EQ(core_of(lock).own_rules().prefers, prefers);
  EXPECT_EQ(result_behind_a_waiting_writer(lock), prefers == preference::reader ? 0 : EBUSY);
}

TEST(attributes, initialisers_choose_the_preference) {
  expect_preference(READMOST_RWLOCK_INITIALIZER, preference::writer);
  expect_preference(READMOST_RWLOCK_INITIALIZER_READER, preference::reader);
  expect_preference(READMOST_RWLOCK_INITIALIZER_PHASE_FAIR, preference::phase_fair);
}

TEST(attributes, attributes_choose_the_preference) {
  expect_preference(made_with(READMOST_PREFER_WRITER), preference::writer);
  expect_preference(made_with(READMOST_PREFER_READER), preference::reader);
  expect_preference(made_with(READMOST_PREFER_PHASE_FAIR), preference::phase_fair);
}

TEST(attributes, a_lock_is_read_in_its_own_domain_only_and_passively_when_hot) {
  readmost_domain_t* domain = nullptr;
  ASSERT_EQ(readmost_domain_create(&domain), 0);
  readmost_rwlock_t lock = made_with(READMOST_PREFER_WRITER, domain);
  const unsigned number = core_of(lock).domain;
  EXPECT_NE(number, 0U);

  constexpr int reads_that_earn_bias = 20'000;
  helper_thread reader;
  EXPECT_EQ(reader.call([&] {
    for (int i = 0; i < reads_that_earn_bias; ++i) {
      readmost_rwlock_rdlock(&lock);
      readmost_rwlock_rdunlock(&lock);
    }
    readmost_rwlock_rdlock(&lock);
    return static_cast<int>(readmost::detail::memberships);
  }),
            1 << number);
  EXPECT_EQ(readmost::detail::rwlock::readers(core_of(lock).state), 0);
  EXPECT_EQ(readmost_rwlock_trywrlock(&lock), EBUSY);
  EXPECT_EQ(reader.call([&] { return readmost_rwlock_rdunlock(&lock); }), 0);
  EXPECT_EQ(readmost_rwlock_trywrlock(&lock), 0);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), 0);
  EXPECT_EQ(readmost_rwlock_destroy(&lock), 0);
  EXPECT_EQ(readmost_domain_destroy(domain), 0);
}

TEST(attributes, hints_go_to_the_domain_that_is_named) {
  readmost_domain_t* domain = nullptr;
  ASSERT_EQ(readmost_domain_create(&domain), 0);
  readmost_rwlock_t lock = made_with(READMOST_PREFER_WRITER, domain);
  const auto is_online = [](unsigned number) {
    return readmost::detail::participation_of(readmost::detail::my_record(number).mode) ==
           readmost::detail::participation::online;
  };
  helper_thread thread;
  EXPECT_EQ(thread.call([&] {
    readmost_domain_online(domain);
    readmost_domain_offline(nullptr);  // no member of that domain, so this does nothing
    return static_cast<int>(readmost::detail::memberships);
  }),
            1 << core_of(lock).domain);
  EXPECT_EQ(thread.call([&] {
    readmost_domain_online(nullptr);
    const bool both = is_online(0) && is_online(core_of(lock).domain);
    readmost_domain_offline(domain);
    return static_cast<int>(both && is_online(0) && !is_online(core_of(lock).domain));
  }),
            1);
  EXPECT_EQ(thread.call([&] {
    readmost_offline();
    const bool offline = !is_online(0);
    readmost_online();
    return static_cast<int>(offline && is_online(0));
  }),
            1);
  EXPECT_EQ(readmost_domain_destroy(domain), 0);
}

}  // namespace
