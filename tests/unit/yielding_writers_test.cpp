// SPDX-License-Identifier: Apache-2.0
// Writers that wait for readers inside, and may yield to them.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "support/crowd.hpp"
#include "support/helper_thread.hpp"
#include "support/sorts.hpp"
#include "support/surface.hpp"

namespace {

std::atomic<int> yields{0};
std::atomic<bool> others_keep_cpu{false};  // for much longer than a time slice

}  // namespace

// In the place of the C library's, whose declarations differ.
extern "C" int counted_yield() noexcept asm("sched_yield");
int counted_yield() noexcept {
  ++yields;
  if (others_keep_cpu) readmost::detail::platform::sleep_for(50'000'000);
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

using namespace readmost::detail;
using readmost::preference;

// How often the writer yields to a reader inside before it sleeps.
int yields_before_sleep(test::helper_thread& writer, test::hold hold_of_reader, rules how) {
  rwlock lock;
  if (hold_of_reader == test::hold::passive) {
    EXPECT_TRUE(test::earn_bias(lock, how));
  } else {
    test::keep_without_bias(lock);
  }
  EXPECT_TRUE(test::lock_shared_as(lock, hold_of_reader, how));
  yields = 0;
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

int yields_to_passive_reader(preference prefers) {
  test::helper_thread writer;
  return yields_before_sleep(writer, test::hold::passive, {.prefers = prefers});
}

// A preferred reader that may have lost its CPU to the writer would read on for all of a time
// slice, and be inside once more at its end.
TEST(drain, hands_no_time_slices_to_preferred_readers) {
  EXPECT_EQ(yields_to_passive_reader(preference::reader), 0);
}

// One that is kept out after it has left yields in turn.
TEST(drain, yields_to_readers_that_are_kept_out_next) {
  EXPECT_NE(yields_to_passive_reader(preference::writer), 0);
}

class writer_among_many : public ::testing::TestWithParam<preference> {
 protected:
  // The thread may have the record of an earlier one.
  writer_among_many() {
    writer_.call([] { enlist()->yields_from = 0; });
  }

  int yields_to_active_reader() {
    return yields_before_sleep(writer_, test::hold::active, {.prefers = GetParam()});
  }

 private:
  test::crowd others_;
  test::helper_thread writer_;
};

TEST_P(writer_among_many, yields_to_readers_inside) {
  EXPECT_NE(yields_to_active_reader(), 0);
}

TEST_P(writer_among_many, yields_no_more_for_a_while_to_who_keeps_the_cpu) {
  others_keep_cpu = true;
  EXPECT_EQ(yields_to_active_reader(), 1);
  EXPECT_EQ(yields_to_active_reader(), 0);
  others_keep_cpu = false;
}

INSTANTIATE_TEST_SUITE_P(, writer_among_many,
                         ::testing::Values(preference::reader, preference::writer),
                         [](const auto& info) {
                           return info.param == preference::reader ? "under_reader_preference"
                                                                   : "under_writer_preference";
                         });

}  // namespace
