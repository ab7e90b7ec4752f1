// SPDX-License-Identifier: Apache-2.0
// Who is woken, and how often.
#include <gtest/gtest.h>
#include <readmost.h>
#include <sys/resource.h>

#include "locks.hpp"
#include "support/helper_thread.hpp"

namespace {

using test::helper_thread;

// The number of times that the calling thread went to sleep.
long sleeps() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// How often a writer that waits for a reader of one lock sleeps while a stranger, who could not
// tell it that it holds nothing, reads another lock again and again.
void count_sleeps(readmost_rwlock_t& awaited, readmost_rwlock_t& held, readmost_rwlock_t& busy,
                  long& slept) {
  constexpr int reads_of_another_lock = 20'000;
  helper_thread reader, writer, stranger;
  ASSERT_EQ(reader.call([&] { return readmost_rwlock_rdlock(&awaited); }), 0);
  ASSERT_EQ(stranger.call([&] { return readmost_rwlock_rdlock(&held); }), 0);
  writer.begin([&] {
    const long before = sleeps();
    const int result = readmost_rwlock_wrlock(&awaited);
    slept = sleeps() - before;
    return result;
  });
  ASSERT_TRUE(writer.falls_asleep());
  EXPECT_EQ(stranger.call([&] {
    int result = 0;
    for (int i = 0; i < reads_of_another_lock; ++i) {
      result |= readmost_rwlock_rdlock(&busy);
      result |= readmost_rwlock_rdunlock(&busy);
    }
    return result | readmost_rwlock_rdunlock(&held);
  }),
            0);
  EXPECT_TRUE(writer.in_call());
  ASSERT_EQ(reader.call([&] { return readmost_rwlock_rdunlock(&awaited); }), 0);
  ASSERT_EQ(writer.end(), 0);
  EXPECT_EQ(writer.call([&] { return readmost_rwlock_wrunlock(&awaited); }), 0);
}

TEST(wake_up, of_a_writer_is_left_to_the_readers_of_its_lock) {
  constexpr long most_sleeps = 100;
  // Readers of some other locks, by address, wake it as well; hardly those of all of these.
  constexpr int others = 6;
  for (const int preference : c_api::preferences) {
    SCOPED_TRACE(c_api::name_of(preference));
    long least = most_sleeps;
    for (int i = 0; i < others && least >= most_sleeps; ++i) {
      readmost_rwlock_t awaited, held, busy[others];
      for (readmost_rwlock_t* lock : {&awaited, &held, &busy[i]}) {
        c_api::init(*lock, preference);
        c_api::make_hot(*lock);
      }
      count_sleeps(awaited, held, busy[i], least);
      if (HasFatalFailure()) return;
    }
    EXPECT_LT(least, most_sleeps);
  }
}

}  // namespace
