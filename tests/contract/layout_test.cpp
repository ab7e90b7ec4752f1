// SPDX-License-Identifier: Apache-2.0
// The memory of a lock: size, initialisers, and use without init or destroy.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "locks.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;

constexpr std::size_t kind_at = 48;
constexpr std::size_t shared_at = 28;

unsigned char byte_of(const pthread_rwlock_t& lock, std::size_t at) {
  unsigned char bytes[sizeof lock];
  std::memcpy(bytes, &lock, sizeof lock);
  return bytes[at];
}

// Calls every operation on a free lock and checks what other threads may do meanwhile.
void expect_works(pthread_rwlock_t* lock) {
  for (const auto& operation : contract::untimed_operations()) {
    EXPECT_EQ(operation.call(lock), 0) << operation.name;
    EXPECT_EQ(seen_elsewhere(lock), operation.writes ? holding::written : holding::read);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free) << "after " << operation.name;
  }
  for (const auto& operation : contract::timed_operations()) {
    EXPECT_EQ(contract::call_for(operation, lock, contract::generous_wait), 0) << operation.name;
    EXPECT_EQ(seen_elsewhere(lock), operation.writes ? holding::written : holding::read);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free) << "after " << operation.name;
  }
}

TEST(layout, a_lock_has_56_bytes_and_alignment_8) {
  EXPECT_EQ(sizeof(pthread_rwlock_t), 56U);
  EXPECT_EQ(alignof(pthread_rwlock_t), 8U);
  EXPECT_EQ(offsetof(pthread_rwlock_t, __data.__shared), shared_at);
  EXPECT_EQ(offsetof(pthread_rwlock_t, __data.__flags), kind_at);
}

TEST(layout, the_default_initialiser_is_all_zeros) {
  const pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (std::size_t at = 0; at < sizeof lock; ++at) EXPECT_EQ(byte_of(lock, at), 0) << "byte " << at;
}

TEST(layout, the_nonrecursive_writer_initialiser_is_zeros_with_kind_2_at_byte_48) {
  const pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  for (std::size_t at = 0; at < sizeof lock; ++at) {
    EXPECT_EQ(byte_of(lock, at), at == kind_at ? 2 : 0) << "byte " << at;
  }
}

TEST(layout, init_records_kind_and_sharing_where_the_initialisers_have_them) {
  for (const int kind : {0, 1, 2}) {
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
      pthread_rwlock_t lock;
      std::memset(&lock, 0xff, sizeof lock);
      contract::rwlock::init(&lock, kind, shared);
      EXPECT_EQ(byte_of(lock, kind_at), kind);
      EXPECT_EQ(byte_of(lock, shared_at) != 0, shared == PTHREAD_PROCESS_SHARED);
      expect_works(&lock);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
  }
}

TEST(layout, zeroed_memory_is_a_lock_without_init) {
  pthread_rwlock_t lock;
  std::memset(&lock, 0, sizeof lock);
  expect_works(&lock);
  contract::make_hot(&lock);
  expect_works(&lock);
}

TEST(layout, a_statically_initialised_lock_of_kind_2_works_without_init) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  expect_works(&lock);
  contract::make_hot(&lock);
  expect_works(&lock);
}

TEST(layout, init_without_attributes_makes_a_free_lock_of_arbitrary_bytes) {
  pthread_rwlock_t lock;
  std::memset(&lock, 0xa5, sizeof lock);
  ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
  expect_works(&lock);
  EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

// libstdc++ does this: a std::shared_mutex ends without destroy, and the next one starts as zeros.
TEST(layout, a_hot_lock_zeroed_without_destroy_is_a_new_lock) {
  pthread_rwlock_t lock;
  for (int round = 0; round < 20; ++round) {
    std::memset(&lock, 0, sizeof lock);
    EXPECT_EQ(seen_elsewhere(&lock), holding::free);
    contract::make_hot(&lock);
    expect_works(&lock);
    contract::make_hot(&lock);
  }
}

TEST(layout, a_lock_at_a_reused_address_has_its_own_kind_and_sharing) {
  pthread_rwlock_t lock;
  for (int round = 0; round < 6; ++round) {
    for (const int kind : {0, 2, 1}) {
      for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
        contract::rwlock::init(&lock, kind, shared);
        if (round % 2 == 0) contract::make_hot(&lock);
        expect_works(&lock);
        if (round % 3 == 0) {
          EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
        }
      }
    }
  }
}

TEST(layout, a_lock_that_was_destroyed_can_be_initialised_again_at_a_high_rate) {
  pthread_rwlock_t lock;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
    ASSERT_EQ(pthread_rwlock_rdlock(&lock), 0);
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    ASSERT_EQ(pthread_rwlock_trywrlock(&lock), 0);
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    ASSERT_EQ(pthread_rwlock_destroy(&lock), 0);
  }
}

TEST(layout, no_operation_writes_outside_the_56_bytes) {
  struct {
    unsigned char before[64];
    pthread_rwlock_t lock;
    unsigned char after[64];
  } memory;
  std::memset(&memory, 0x5a, sizeof memory);
  ASSERT_EQ(pthread_rwlock_init(&memory.lock, nullptr), 0);
  contract::make_hot(&memory.lock);
  expect_works(&memory.lock);
  EXPECT_EQ(pthread_rwlock_destroy(&memory.lock), 0);
  for (const unsigned char byte : memory.before) EXPECT_EQ(byte, 0x5a);
  for (const unsigned char byte : memory.after) EXPECT_EQ(byte, 0x5a);
}

TEST(layout, destroy_returns_0_also_when_the_lock_is_held) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    for (const auto& operation : contract::untimed_operations()) {
      pthread_rwlock_t lock;
      contract::prepare(&lock, v);
      ASSERT_EQ(operation.call(&lock), 0);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0) << "held by " << operation.name;
    }
  }
}

TEST(layout, a_lock_initialised_again_while_it_is_held_is_free) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    for (const auto& operation : contract::untimed_operations()) {
      pthread_rwlock_t lock;
      contract::prepare(&lock, v);
      ASSERT_EQ(operation.call(&lock), 0);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
      ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
      EXPECT_EQ(seen_elsewhere(&lock), holding::free) << "it was held by " << operation.name;
      expect_works(&lock);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
  }
}

}  // namespace
