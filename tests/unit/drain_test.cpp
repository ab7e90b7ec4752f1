// SPDX-License-Identifier: Apache-2.0
// A writer that waits for the passive readers that its claim has found inside.
#include <gtest/gtest.h>

#include <atomic>
#include <shared_mutex>
#include <thread>

#include "support/one_cpu.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;

// With its CPU a writer would hand on a whole time slice, in which a preferred reader comes back
// again and again, and is inside once more when the slice ends.
TEST(drain, leaves_preferred_readers_no_time_slices) {
  const test::one_cpu for_both;
  rwlock lock;
  const rules how{.prefers = preference::reader};
  ASSERT_TRUE(test::earn_bias(lock, how));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> reads{0};
  std::thread reader([&] {
    while (!over.load(std::memory_order_relaxed)) {
      test::lock_shared(lock, how);
      for (int i = 0; i < 20; ++i) platform::relax();
      test::unlock_shared(lock);
      reads.store(reads.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  });
  std::uint64_t while_waiting = 0;
  for (int i = 0; i < 100; ++i) {
    platform::sleep_for(1'000'000);
    const std::uint64_t before = reads.load(std::memory_order_relaxed);
    EXPECT_EQ(test::lock(lock, how), test::acquired);
    while_waiting += reads.load(std::memory_order_relaxed) - before;
    test::unlock(lock, how);
  }
  over = true;
  reader.join();
  EXPECT_LT(while_waiting, reads / 2);
}

}  // namespace
