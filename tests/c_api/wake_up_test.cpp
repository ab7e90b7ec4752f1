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

TEST(wake_up, of_a_writer_is_left_to_the_readers_of_its_lock) {
  constexpr int reads_of_another_lock = 20'000;
  constexpr long most_sleeps = 100;
  for (const int preference : c_api::preferences) {
    SCOPED_TRACE(c_api::name_of(preference));
    readmost_rwlock_t awaited, held, busy;
    for (readmost_rwlock_t* lock : {&awaited, &held, &busy}) {
      c_api::init(*lock, preference);
      c_api::make_hot(*lock);
    }
    helper_thread reader, writer, stranger;
    ASSERT_EQ(reader.call([&] { return readmost_rwlock_rdlock(&awaited); }), 0);
    // It could not tell the writer that it holds nothing.
    ASSERT_EQ(stranger.call([&] { return readmost_rwlock_rdlock(&held); }), 0);
    long slept = 0;
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
    EXPECT_LT(slept, most_sleeps);
    EXPECT_EQ(writer.call([&] { return readmost_rwlock_wrunlock(&awaited); }), 0);
  }
}

}  // namespace
