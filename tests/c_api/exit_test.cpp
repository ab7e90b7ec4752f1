// SPDX-License-Identifier: Apache-2.0
// Locks used by a thread after its exit from the library: key destructors that run in the last
// round, after the library's own.
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <readmost.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "locks.hpp"
#include "support/helper_thread.hpp"
#include "support/sanitizers.hpp"

namespace {

using c_api::is_free_elsewhere;
using test::helper_thread;

struct late_reader {
  pthread_key_t key;
  readmost_rwlock_t* lock;
  int rounds = 0;
  std::atomic<int> errors{0};
};

void read_in_the_last_round(void* argument) {
  auto& reader = *static_cast<late_reader*>(argument);
  if (++reader.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(reader.key, argument);
    return;
  }
  if (readmost_rwlock_rdlock(reader.lock) != 0) ++reader.errors;
  if (readmost_rwlock_rdunlock(reader.lock) != 0) ++reader.errors;
}

// Runs a thread that uses the lock while it runs and after its exit.
[[maybe_unused]] void read_late(readmost_rwlock_t& lock) {
  late_reader reader{.key = {}, .lock = &lock};
  readmost_rwlock_t another = READMOST_RWLOCK_INITIALIZER;
  std::thread([&] {
    c_api::make_hot(another);
    // Made after the library's key, so its destructor is called later in each round.
    ASSERT_EQ(pthread_key_create(&reader.key, read_in_the_last_round), 0);
    pthread_setspecific(reader.key, &reader);
  }).join();
  EXPECT_EQ(reader.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_EQ(reader.errors, 0);
  EXPECT_EQ(pthread_key_delete(reader.key), 0);
}

#if !UNDER_THREAD_SANITIZER  // which has given the thread up by then

// A reader that is inside already must pass the writer, or the two wait for each other.
TEST(thread_exit, reading_after_it_takes_no_other_threads_right_to_read_again) {
  for (const int preference : c_api::preferences) {
    for (const bool hot : {false, true}) {
      SCOPED_TRACE(c_api::name_of(preference));
      SCOPED_TRACE(hot ? "hot" : "cold");
      readmost_rwlock_t lock;
      c_api::init(lock, preference);
      if (hot) c_api::make_hot(lock);
      helper_thread reader, writer;
      ASSERT_EQ(reader.call([&] { return readmost_rwlock_rdlock(&lock); }), 0);
      read_late(lock);
      writer.begin([&] { return readmost_rwlock_wrlock(&lock); });
      ASSERT_TRUE(writer.falls_asleep());
      EXPECT_EQ(reader.call([&] {
        const int result = readmost_rwlock_tryrdlock(&lock);
        if (result == 0) readmost_rwlock_rdunlock(&lock);
        return result;
      }),
                0);
      EXPECT_EQ(reader.call([&] { return readmost_rwlock_rdunlock(&lock); }), 0);
      EXPECT_EQ(writer.end(), 0);
      EXPECT_EQ(writer.call([&] { return readmost_rwlock_wrunlock(&lock); }), 0);
      EXPECT_TRUE(is_free_elsewhere(lock));
    }
  }
}

#endif

}  // namespace
