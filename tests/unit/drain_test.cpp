// SPDX-License-Identifier: Apache-2.0
// A writer that waits for the passive readers that its claim has found inside.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "support/helper_thread.hpp"
#include "support/sorts.hpp"
#include "support/surface.hpp"

namespace {

std::atomic<int> yields{0};

}  // namespace

// In the place of the C library's, whose declarations differ.
extern "C" int counted_yield() noexcept asm("sched_yield");
int counted_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

using namespace readmost::detail;
using readmost::preference;

// How often a writer yields to a passive reader inside before it sleeps.
int yields_before_sleep(preference prefers) {
  rwlock lock;
  const rules how{.prefers = prefers};
  EXPECT_TRUE(test::earn_bias(lock, how));
  EXPECT_TRUE(test::lock_shared_as(lock, test::hold::passive, how));
  yields = 0;
  test::helper_thread writer;
  writer.begin([&] {
    const int result = test::lock(lock, how);
    test::unlock(lock, how);
    return result;
  });
  EXPECT_TRUE(writer.falls_asleep());
  const int found = yields;
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(writer.end(), test::acquired);
  return found;
}

// A preferred reader that may have lost its CPU to the writer would read on for all of a time
// slice, and be inside once more at its end.
TEST(drain, hands_no_time_slices_to_preferred_readers) {
  EXPECT_EQ(yields_before_sleep(preference::reader), 0);
}

// One that is kept out after it has left yields in turn.
TEST(drain, yields_to_readers_that_are_kept_out_next) {
  EXPECT_NE(yields_before_sleep(preference::writer), 0);
}

}  // namespace
