// SPDX-License-Identifier: Apache-2.0
// The sizes of the locks, as in their headers and README.md: alone, and with the memory that they
// allocate on machines with 2 and with 72 CPUs.
#include <gtest/gtest.h>

#include <memory>

#include "rivals/all.hpp"
#include "rivals/seq_lock.hpp"

namespace {

TEST(sizes, of_locks_of_fixed_size) {
  EXPECT_EQ(sizeof(rivals::tlrw_byte_lock), 56U);
  EXPECT_EQ(sizeof(rivals::rmlock), 56U);
  EXPECT_EQ(sizeof(rivals::stamped_lock), 16U);
  EXPECT_EQ(sizeof(rivals::seq_lock), 4U);
  EXPECT_EQ(sizeof(rivals::pf_q), 64U);
}

TEST(sizes, of_locks_that_grow_with_the_machine) {
  EXPECT_EQ(rivals::brlock_mutexes::footprint(2), 16U + 2 * 64U);
  EXPECT_EQ(rivals::brlock_mutexes::footprint(72), 16U + 72 * 64U);
  EXPECT_EQ(rivals::brlock_flags::footprint(2), 64U + 8 * 64U);
  EXPECT_EQ(rivals::brlock_flags::footprint(72), 64U + 144 * 64U);
  EXPECT_EQ(rivals::percpu_rwlock::footprint(72), 64U + 144 * 64U);
  EXPECT_EQ(rivals::csnzi_rwlock::footprint(2), 128U + 2 * 64U);
  EXPECT_EQ(rivals::csnzi_rwlock::footprint(72), 128U + 72 * 64U);
  EXPECT_EQ(rivals::per_cpu_lock::footprint(72), sizeof(rivals::per_cpu_lock) + 72 * 64U);
}

// A lock whose bytes are all zero is free, so that zeroed memory needs no constructor.
template <class Lock>
bool is_free_when_zero() {
  alignas(Lock) unsigned char bytes[sizeof(Lock)]{};
  Lock& lock = *reinterpret_cast<Lock*>(bytes);
  bool free = lock.try_lock();
  lock.unlock();
  free = free && lock.try_lock_shared();
  lock.unlock_shared();
  return free;
}

TEST(sizes, locks_of_fixed_size_are_free_when_all_is_zero) {
  EXPECT_TRUE(is_free_when_zero<rivals::tlrw_byte_lock>());
  EXPECT_TRUE(is_free_when_zero<rivals::rmlock>());
  EXPECT_TRUE(is_free_when_zero<rivals::stamped_lock>());
}

// Made before anything runs.
[[maybe_unused]] constinit rivals::tlrw_byte_lock static_tlrw;
[[maybe_unused]] constinit rivals::rmlock static_rmlock;
[[maybe_unused]] constinit rivals::stamped_lock static_stamped;
[[maybe_unused]] constinit rivals::seq_lock static_seq;

}  // namespace
