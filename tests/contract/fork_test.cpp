// SPDX-License-Identifier: Apache-2.0
// Forks while locks are held by the forking thread, held by its siblings, or under load.
#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "configuration.hpp"
#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using contract::seen_here;
using std::chrono::milliseconds;
using test::helper_thread;
using test::in_a_child;

// One thread reads and another writes, both in the calling process.
void expect_exclusion_between_threads(pthread_rwlock_t* lock) {
  long left = 0, right = 0;
  std::atomic<int> errors{0};
  const auto work = [&] {
    for (int i = 0; i < 300; ++i) {
      if (pthread_rwlock_wrlock(lock) != 0) ++errors;
      left = left + 1;
      right = right + 1;
      if (pthread_rwlock_unlock(lock) != 0) ++errors;
      for (int reads = 0; reads < 100; ++reads) {
        if (pthread_rwlock_rdlock(lock) != 0) ++errors;
        if (left != right) ++errors;
        if (pthread_rwlock_unlock(lock) != 0) ++errors;
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(left, 600);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

TEST(fork, the_child_may_release_the_read_holds_of_the_forking_thread) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    for (const int holds : {1, 3, 20}) {
      SCOPED_TRACE(v);
      SCOPED_TRACE(holds);
      pthread_rwlock_t lock;
      contract::prepare(&lock, v);
      for (int i = 0; i < holds; ++i) ASSERT_EQ(pthread_rwlock_rdlock(&lock), 0);
      in_a_child([&] {
        for (int i = 0; i < holds; ++i) {
          EXPECT_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
          EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
        }
        EXPECT_EQ(seen_here(&lock), holding::free);
        expect_exclusion_between_threads(&lock);
      });
      EXPECT_EQ(seen_elsewhere(&lock), holding::read) << "the parent's own lock";
      for (int i = 0; i < holds; ++i) ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
      EXPECT_EQ(seen_elsewhere(&lock), holding::free);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
  }
}

// glibc compares thread ids, and the child's differs; Readmost recognises the thread in the child.
TEST(fork, the_child_releases_the_write_hold_of_the_forking_thread_under_readmost_only) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    pthread_rwlock_t lock;
    contract::prepare(&lock, v);
    ASSERT_EQ(pthread_rwlock_wrlock(&lock), 0);
    in_a_child([&] {
      const timespec soon = contract::in(CLOCK_MONOTONIC, milliseconds(20));
      const int again = pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon);
      EXPECT_EQ(seen_elsewhere(&lock), holding::written);
      if (contract::readmost_rules()) {
        EXPECT_EQ(again, EDEADLK);
        EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
        EXPECT_EQ(seen_elsewhere(&lock), holding::free);
        expect_exclusion_between_threads(&lock);
      } else {
        EXPECT_EQ(again, ETIMEDOUT);
      }
    });
    EXPECT_EQ(seen_elsewhere(&lock), holding::written) << "the parent's own lock";
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(seen_elsewhere(&lock), holding::free);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
  }
}

TEST(fork, the_holds_of_other_threads_are_busy_in_the_child_and_it_may_release_them) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    helper_thread holders[3];
    for (auto& holder : holders) {
      ASSERT_EQ(holder.call([&] {
        if (v.hot) contract::make_hot(lock);
        return pthread_rwlock_rdlock(lock);
      }),
                0);
    }
    in_a_child([&] {
      for (std::size_t i = 0; i < std::size(holders); ++i) {
        EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
        const timespec soon = contract::in(CLOCK_REALTIME, milliseconds(5));
        EXPECT_EQ(pthread_rwlock_timedwrlock(lock, &soon), ETIMEDOUT);
        EXPECT_EQ(pthread_rwlock_tryrdlock(lock), 0);
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0) << "on behalf of a vanished thread";
      }
      EXPECT_EQ(seen_here(lock), holding::free);
      expect_exclusion_between_threads(lock);
    });
    EXPECT_EQ(seen_elsewhere(lock), holding::read);
    for (auto& holder : holders) {
      EXPECT_EQ(holder.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    }
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(fork, the_child_uses_fresh_locks_and_the_parents_free_ones_normally) {
  contract::rwlock old;
  contract::make_hot(old);
  helper_thread reader;
  ASSERT_EQ(reader.call([&] { contract::make_hot(old); }), 0);
  in_a_child([&] {
    EXPECT_EQ(seen_here(old), holding::free);
    contract::make_hot(old);
    expect_exclusion_between_threads(old);
    contract::rwlock fresh;
    contract::make_hot(fresh);
    expect_exclusion_between_threads(fresh);
    std::shared_mutex mutex;
    contract::make_hot(contract::lock_of(mutex));
    expect_exclusion_between_threads(contract::lock_of(mutex));
  });
  expect_exclusion_between_threads(old);
}

TEST(fork, a_grandchild_may_release_the_hold_too) {
  contract::rwlock lock;
  contract::make_hot(lock);
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  in_a_child([&] {
    in_a_child([&] {
      EXPECT_EQ(seen_elsewhere(lock), holding::read);
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
      expect_exclusion_between_threads(lock);
    });
    EXPECT_EQ(seen_elsewhere(lock), holding::read);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  });
  EXPECT_EQ(seen_elsewhere(lock), holding::read);
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
}

TEST(fork, a_fork_by_a_thread_other_than_the_first_keeps_that_threads_holds) {
  contract::rwlock mine, of_main;
  contract::make_hot(of_main);
  ASSERT_EQ(pthread_rwlock_rdlock(of_main), 0);
  std::thread([&] {
    contract::make_hot(mine);
    pthread_rwlock_rdlock(mine);
    in_a_child([&] {
      EXPECT_EQ(pthread_rwlock_trywrlock(mine), EBUSY);
      EXPECT_EQ(pthread_rwlock_unlock(mine), 0);
      EXPECT_EQ(seen_here(mine), holding::free);
      EXPECT_EQ(pthread_rwlock_trywrlock(of_main), EBUSY);
      EXPECT_EQ(pthread_rwlock_unlock(of_main), 0);
      EXPECT_EQ(seen_here(of_main), holding::free);
      expect_exclusion_between_threads(mine);
    });
    pthread_rwlock_unlock(mine);
  }).join();
  ASSERT_EQ(pthread_rwlock_unlock(of_main), 0);
  EXPECT_EQ(seen_elsewhere(of_main), holding::free);
}

TEST(fork, two_hundred_forks_while_other_threads_lock_never_hang_the_child) {
  contract::rwlock loaded, mine;
  contract::make_hot(loaded);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) {
        for (int reads = 0; reads < 500; ++reads) {
          pthread_rwlock_rdlock(loaded);
          pthread_rwlock_unlock(loaded);
        }
        if (i != 0) continue;
        pthread_rwlock_wrlock(loaded);
        pthread_rwlock_unlock(loaded);
      }
    });
  }
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    ASSERT_EQ(pthread_rwlock_rdlock(mine), 0);
    in_a_child([&] {
      if (contract::readmost_rules()) {
        // Whether the lock was held at the fork is a matter of chance, but every attempt has to
        // return.
        for (const auto& operation : contract::untimed_operations()) {
          if (!operation.tries) continue;
          const int result = operation.call(loaded);
          EXPECT_TRUE(result == 0 || result == EBUSY) << operation.name << " gives " << result;
          if (result == 0) {
            EXPECT_EQ(pthread_rwlock_unlock(loaded), 0);
          }
        }
        for (const auto& operation : contract::timed_operations()) {
          const int result = contract::call_for(operation, loaded, milliseconds(1));
          EXPECT_TRUE(result == 0 || result == ETIMEDOUT) << operation.name << " gives " << result;
          if (result == 0) {
            EXPECT_EQ(pthread_rwlock_unlock(loaded), 0);
          }
        }
      }
      EXPECT_EQ(pthread_rwlock_trywrlock(mine), EBUSY);
      EXPECT_EQ(pthread_rwlock_unlock(mine), 0);
      EXPECT_EQ(seen_here(mine), holding::free);
      contract::rwlock fresh;
      for (int i = 0; i < 2'000; ++i) {
        EXPECT_EQ(pthread_rwlock_rdlock(fresh), 0);
        EXPECT_EQ(pthread_rwlock_unlock(fresh), 0);
      }
      EXPECT_EQ(seen_here(fresh), holding::free);
    });
    ASSERT_EQ(pthread_rwlock_unlock(mine), 0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(seen_elsewhere(loaded), holding::free);
  EXPECT_EQ(seen_elsewhere(mine), holding::free);
}

TEST(fork, a_new_program_starts_while_locks_are_held) {
  contract::rwlock lock;
  contract::make_hot(lock);
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  pid_t id = 0;
  ASSERT_EQ(posix_spawnp(&id, "true", nullptr, nullptr, arguments, environ), 0);
  int status = -1;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::read);
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

}  // namespace
