// SPDX-License-Identifier: Apache-2.0
// A reader that has seen the lock open, but notes its hold when a writer has come meanwhile.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"
#include "support/single_step.hpp"
#include "support/stop.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;

bool has_settled(const helper_thread& thread) {
  return !thread.in_call() || thread.is_waiting();
}

// A writer settles a hold that another thread has released, while a reader is about to enter: one
// that has seen the lock open before the writer came, and notes its hold when the writer has
// already looked for holds. Both are stopped at many moments, the reader twice: while the writer
// comes, and while it settles.
TEST(late_reader, does_not_count_where_a_writer_settles_a_foreign_unlock) {
  const test::machine_code library = test::code_around(pthread_rwlock_rdlock);
  constexpr std::size_t last_of_reader = 24;
  constexpr std::size_t reader_stride = 3;
  constexpr std::size_t between_the_stops = 4;
  constexpr std::size_t last_of_writer = 4'000;
  constexpr std::size_t writer_stride = 64;
  helper_thread owner, reader, writer;
  contract::rwlock warm;
  for (helper_thread* thread : {&owner, &reader}) {
    ASSERT_EQ(thread->call([&] { contract::make_hot(warm); }), 0);
  }
  for (std::size_t of_reader = 0; of_reader <= last_of_reader; of_reader += reader_stride) {
    bool writer_was_stopped = true;
    for (std::size_t of_writer = 0; writer_was_stopped && of_writer <= last_of_writer;
         of_writer += writer_stride) {
      SCOPED_TRACE(testing::Message() << "the reader is stopped at step " << of_reader
                                      << ", the writer at step " << of_writer);
      contract::prepared_lock lock({PTHREAD_RWLOCK_DEFAULT_NP, true});
      ASSERT_EQ(
          reader.call([&] { return pthread_rwlock_rdlock(lock) | pthread_rwlock_unlock(lock); }),
          0);
      ASSERT_EQ(owner.call([&] { return pthread_rwlock_rdlock(lock); }), 0);
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);

      test::stop first, second, writers;
      reader.begin([&] {
        int result = -1;
        test::step_through(
            library, [&] { result = pthread_rwlock_rdlock(lock); },
            [&](std::size_t n) {
              if (n == of_reader) first.here();
              if (n < of_reader + between_the_stops) return true;
              second.here();
              return false;
            });
        return result | pthread_rwlock_unlock(lock);
      });
      ASSERT_TRUE(test::wait_until([&] { return first.is_reached() || has_settled(reader); }));
      writer.begin([&] {
        int result = -1;
        test::interrupt_at(
            of_writer, library, [&] { result = pthread_rwlock_wrlock(lock); },
            [&] { writers.here(); });
        return result | pthread_rwlock_unlock(lock);
      });
      ASSERT_TRUE(test::wait_until([&] { return writers.is_reached() || has_settled(writer); }));
      writer_was_stopped = writers.is_reached();
      first.release();
      ASSERT_TRUE(test::wait_until([&] { return second.is_reached() || has_settled(reader); }));
      writers.release();
      ASSERT_TRUE(writer.settles());
      second.release();
      ASSERT_EQ(reader.end(), 0);
      ASSERT_EQ(writer.end(), 0);
      ASSERT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

}  // namespace
