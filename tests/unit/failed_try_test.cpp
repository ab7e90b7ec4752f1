// SPDX-License-Identifier: Apache-2.0
// What attempts that fail cost a lock's readers.
#include <gtest/gtest.h>

#include <cstdint>
#include <readmost/shared_mutex.hpp>

#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"

namespace {

using test::helper_thread;

std::uint64_t revocations() {
  return readmost::detail::collect_statistics().revocations;
}

// Each attempt takes the bias away to find out whether a reader is inside. A lock whose readers
// save nothing meanwhile has to stop giving it back: its account pays for some hundreds of
// revocations.
TEST(failed_try, repeated_beside_a_reader_ends_the_bias) {
  constexpr int attempts = 20'000;
  constexpr std::uint64_t more_than_the_account_pays = 2'000;
  readmost::shared_mutex mutex;
  helper_thread reader;
  reader.call([&] {
    for (int i = 0; i < 50'000; ++i) {
      mutex.lock_shared();
      mutex.unlock_shared();
    }
    mutex.lock_shared();
  });
  const std::uint64_t before = revocations();
  int acquired = 0;
  for (int i = 0; i < attempts; ++i) {
    if (!mutex.try_lock()) continue;
    mutex.unlock();
    ++acquired;
  }
  const std::uint64_t revoked = revocations() - before;
  EXPECT_EQ(acquired, 0);
  EXPECT_GE(revoked, 1U) << "the lock was biased";
  EXPECT_LE(revoked, more_than_the_account_pays);
  reader.call([&] { mutex.unlock_shared(); });
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace
