// SPDX-License-Identifier: Apache-2.0
// The unlock function takes neither the type of the hold nor its owner as an argument.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;

TEST(foreign_unlock, another_thread_may_release_a_read_hold) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    helper_thread owner, other;
    for (const auto& heats : {true, false}) {
      ASSERT_EQ(owner.call([&] {
        if (heats && v.hot) contract::make_hot(lock);
        return pthread_rwlock_rdlock(lock);
      }),
                0);
      EXPECT_EQ(seen_elsewhere(lock), holding::read);
      EXPECT_EQ(other.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

TEST(foreign_unlock, it_wakes_the_writer_that_waits_for_the_hold) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    helper_thread owner, writer;
    ASSERT_EQ(owner.call([&] { return pthread_rwlock_rdlock(lock); }), 0);
    writer.begin([&] { return pthread_rwlock_wrlock(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

// The same thread makes the same call after a write and after a read.
TEST(foreign_unlock, it_is_a_write_unlock_only_for_the_writer) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::written);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::read);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

// Three threads take and release holds of the same locks in any mixture; only the totals have to
// match.
TEST(foreign_unlock, thousands_of_releases_by_others_interleaved_with_own_holds_add_up) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    pthread_rwlock_t locks[2];
    for (auto& lock : locks) contract::prepare(&lock, v);
    helper_thread threads[3];
    int holds[2] = {};
    std::mt19937 random(5);
    for (int step = 0; step < 6'000; ++step) {
      const std::size_t l = random() % 2;
      auto& thread = threads[random() % 3];
      if (holds[l] < 12 && random() % 2 == 0) {
        ASSERT_EQ(thread.call([&] { return pthread_rwlock_rdlock(&locks[l]); }), 0);
        ++holds[l];
      } else if (holds[l] > 0) {
        ASSERT_EQ(thread.call([&] { return pthread_rwlock_unlock(&locks[l]); }), 0);
        --holds[l];
      }
      ASSERT_EQ(thread.call([&] {
        const int result = pthread_rwlock_trywrlock(&locks[l]);
        if (result == 0) pthread_rwlock_unlock(&locks[l]);
        return result;
      }),
                holds[l] > 0 ? EBUSY : 0)
          << holds[l] << " holds at step " << step;
      if (v.hot && step % 1'000 == 0) {
        for (auto& lock : locks) contract::make_hot(&lock);
      }
    }
    for (std::size_t l = 0; l < 2; ++l) {
      while (holds[l]-- > 0) ASSERT_EQ(pthread_rwlock_unlock(&locks[l]), 0);
      EXPECT_EQ(seen_elsewhere(&locks[l]), holding::free);
      EXPECT_EQ(pthread_rwlock_destroy(&locks[l]), 0);
    }
  }
}

// Two threads hand holds over at full speed while both also hold the lock themselves and a writer
// tries to get in.
TEST(foreign_unlock, holds_handed_over_at_speed_keep_writers_out_until_the_last_release) {
  for (const auto& v : contract::variants({0, 1})) {
    contract::prepared_lock lock(v);
    constexpr int transfers = 10'000;
    std::atomic<int> handed{0}, released{0}, own{0}, errors{0}, written{0};
    long left = 0, right = 0;
    std::atomic<bool> stop{false};
    const auto check_read = [&] {
      if (pthread_rwlock_rdlock(lock) != 0) ++errors;
      if (left != right) ++errors;
      if (pthread_rwlock_unlock(lock) != 0) ++errors;
      ++own;
    };
    std::thread giver([&] {
      for (int i = 0; i < transfers; ++i) {
        if (pthread_rwlock_rdlock(lock) != 0) ++errors;
        if (left != right) ++errors;
        ++handed;
        while (handed - released > 3) sched_yield();
        if (i % 3 == 0) check_read();
      }
    });
    std::thread taker([&] {
      while (released < transfers) {
        if (handed == released) {
          check_read();
          sched_yield();
          continue;
        }
        if (left != right) ++errors;
        if (pthread_rwlock_unlock(lock) != 0) ++errors;
        ++released;
      }
    });
    std::thread writer([&] {
      while (!stop) {
        const timespec soon = contract::in(CLOCK_MONOTONIC, std::chrono::milliseconds(5));
        if (pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon) == 0) {
          left = left + 1;
          right = right + 1;
          ++written;
          if (pthread_rwlock_unlock(lock) != 0) ++errors;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    giver.join();
    taker.join();
    stop = true;
    writer.join();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(left, written);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(foreign_unlock, a_hold_outlives_the_thread_that_took_it) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    constexpr int holds = 20;  // more than a thread can hold passively
    std::thread([&] {
      if (v.hot) contract::make_hot(lock);
      for (int i = 0; i < holds; ++i) pthread_rwlock_rdlock(lock);
    }).join();
    // A new thread that reuses the dead thread's place owns none of its holds.
    std::thread([&] {
      contract::rwlock another;
      contract::make_hot(another);
    }).join();
    for (int i = 0; i < holds; ++i) {
      EXPECT_EQ(seen_elsewhere(lock), holding::read) << i << " released";
      const timespec soon = contract::in(CLOCK_REALTIME, std::chrono::milliseconds(1));
      EXPECT_EQ(pthread_rwlock_timedwrlock(lock, &soon), ETIMEDOUT);
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(foreign_unlock, a_hundred_threads_that_exit_with_holds_block_only_the_locks_they_held) {
  contract::rwlock held, other;
  contract::make_hot(held);
  contract::make_hot(other);
  constexpr int threads = 100;
  for (int i = 0; i < threads; ++i) {
    std::thread([&] {
      pthread_rwlock_rdlock(held);
      pthread_rwlock_rdlock(other);
      pthread_rwlock_unlock(other);
    }).join();
  }
  EXPECT_EQ(seen_elsewhere(other), holding::free);
  helper_thread writer;
  writer.begin([&] { return pthread_rwlock_wrlock(held); });
  ASSERT_TRUE(writer.falls_asleep());
  for (int i = 0; i < threads; ++i) {
    EXPECT_TRUE(writer.in_call());
    ASSERT_EQ(pthread_rwlock_unlock(held), 0);
  }
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(held); }), 0);
}

TEST(foreign_unlock, unlocking_a_lock_that_nobody_holds_returns_0_and_touches_no_other_lock) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    pthread_rwlock_t lock, neighbour;
    contract::prepare(&lock, v);
    contract::prepare(&neighbour, v);
    ASSERT_EQ(pthread_rwlock_rdlock(&neighbour), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(seen_elsewhere(&neighbour), holding::read);
    ASSERT_EQ(pthread_rwlock_unlock(&neighbour), 0);
    EXPECT_EQ(seen_elsewhere(&neighbour), holding::free);
    // The lock that was unlocked by mistake is not usable any more, but its memory is.
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
    EXPECT_EQ(seen_elsewhere(&lock), holding::free);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&neighbour), 0);
  }
}

}  // namespace
