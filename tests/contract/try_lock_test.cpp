// SPDX-License-Identifier: Apache-2.0
// Try functions fail only when a conflicting hold exists.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"
#include "support/single_step.hpp"
#include "support/stop.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;

// Counts the attempts of one thread whose result is not the expected one.
long wrong_attempts(pthread_rwlock_t* lock, int (*attempt)(pthread_rwlock_t*), int expected,
                    int times) {
  long wrong = 0;
  for (int i = 0; i < times; ++i) {
    const int result = attempt(lock);
    if (result != expected) ++wrong;
    if (result == 0) pthread_rwlock_unlock(lock);
  }
  return wrong;
}

TEST(try_lock, tryrdlock_never_fails_without_a_writer) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    std::atomic<long> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 6; ++i) {
      readers.emplace_back(
          [&] { wrong += wrong_attempts(lock, pthread_rwlock_tryrdlock, 0, 100'000); });
    }
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(try_lock, tryrdlock_never_fails_while_a_young_lock_becomes_hot) {
  constexpr std::size_t count = 100;
  const auto locks = std::make_unique<contract::rwlock[]>(count);
  std::atomic<long> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (std::size_t l = 0; l < count; ++l) {
        wrong += wrong_attempts(locks[l], pthread_rwlock_tryrdlock, 0, 5'000);
      }
    });
  }
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST(try_lock, tryrdlock_never_fails_beside_attempts_to_write_that_a_reader_foils) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    std::atomic<bool> stop{false};
    std::atomic<long> wrong_reads{0}, wrong_writes{0}, writes{0};
    std::thread writer([&] {
      while (!stop || writes == 0) {
        wrong_writes += wrong_attempts(lock, pthread_rwlock_trywrlock, EBUSY, 1);
        ++writes;
      }
    });
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back(
          [&] { wrong_reads += wrong_attempts(lock, pthread_rwlock_tryrdlock, 0, 50'000); });
    }
    for (auto& reader : readers) reader.join();
    stop = true;
    writer.join();
    EXPECT_EQ(wrong_reads, 0);
    EXPECT_EQ(wrong_writes, 0) << "it wrote beside a reader";
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

// The readers that made the lock hot still run, have released it, and keep reading another lock.
TEST(try_lock, trywrlock_never_fails_on_a_lock_that_its_hot_readers_have_left) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    contract::rwlock elsewhere;
    std::atomic<bool> stop{false};
    std::atomic<int> asked{0}, answered{0};
    std::thread reader([&] {
      while (!stop) {
        wrong_attempts(elsewhere, pthread_rwlock_tryrdlock, 0, 3'000);
        if (answered == asked) continue;
        wrong_attempts(lock, pthread_rwlock_tryrdlock, 0, 3'000);
        answered = asked.load();
      }
    });
    for (int round = 1; round <= 150; ++round) {
      wrong_attempts(lock, pthread_rwlock_tryrdlock, 0, 1'000);
      asked = round;
      while (answered != round) sched_yield();
      EXPECT_EQ(pthread_rwlock_trywrlock(lock), 0) << "nobody holds it";
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(pthread_rwlock_tryrdlock(lock), 0) << "nobody writes";
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
      if (HasFailure()) break;
    }
    stop = true;
    reader.join();
  }
}

TEST(try_lock, an_attempt_right_after_another_threads_unlock_succeeds) {
  contract::rwlock lock;
  helper_thread other;
  for (int round = 0; round < 2'000; ++round) {
    ASSERT_EQ(other.call([&] {
      const int result = pthread_rwlock_wrlock(lock);
      return result != 0 ? result : pthread_rwlock_unlock(lock);
    }),
              0);
    ASSERT_EQ(pthread_rwlock_tryrdlock(lock), 0);
    ASSERT_EQ(other.call([&] { return pthread_rwlock_tryrdlock(lock); }), 0);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    ASSERT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    ASSERT_EQ(other.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    ASSERT_EQ(pthread_rwlock_trywrlock(lock), 0);
    ASSERT_EQ(other.call([&] { return pthread_rwlock_tryrdlock(lock); }), EBUSY);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  }
}

// A writer that has claimed the lock, but does not know yet whether it may enter, may have lost its
// CPU. The test stops one at many moments of its call.
TEST(try_lock, does_not_depend_on_the_progress_of_a_writer_that_has_lost_its_cpu) {
  struct attempt {
    const char* name;
    int (*call)(pthread_rwlock_t*);
  };
  constexpr attempt attempts[] = {{"tryrdlock", pthread_rwlock_tryrdlock},
                                  {"trywrlock", pthread_rwlock_trywrlock}};
  const test::machine_code library = test::code_around(pthread_rwlock_rdlock);
  // A claim is undecided for some hundreds of steps.
  constexpr std::size_t stride = 40;
  constexpr std::size_t last_of_claim = 1'500;
  constexpr std::size_t bound = 20'000;
  for (const auto& v : contract::variants({0, 2})) {
    for (std::size_t step = 0; step <= last_of_claim; step += stride) {
      contract::prepared_lock lock(v);
      helper_thread writer, other;
      test::stop of_writer;
      writer.begin([&] {
        int result = -1;
        test::interrupt_at(
            step, library, [&] { result = pthread_rwlock_wrlock(lock); },
            [&] { of_writer.here(); });
        return result;
      });
      ASSERT_TRUE(test::wait_until([&] { return of_writer.is_reached() || !writer.in_call(); }));
      const bool was_stopped = of_writer.is_reached();
      for (const attempt& a : attempts) {
        EXPECT_EQ(other.call([&] {
          int result = -1;
          const bool soon = test::ends_within(bound, library, [&] { result = a.call(lock); });
          if (result == 0) pthread_rwlock_unlock(lock);
          return soon && (result == 0 || result == EBUSY);
        }),
                  1)
            << a.name << " beside a writer that is stopped at step " << step;
      }
      of_writer.release();
      EXPECT_EQ(writer.end(), 0);
      EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
      if (HasFailure()) return;
      if (!was_stopped) break;
    }
  }
}

}  // namespace
