// SPDX-License-Identifier: Apache-2.0
// libstdc++'s mutexes are pthread rwlocks that are never explicitly initialised or destroyed.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "locks.hpp"

namespace {

using std::chrono::milliseconds;

static_assert(sizeof(std::shared_mutex) == sizeof(pthread_rwlock_t));

TEST(shared_mutex, excludes_and_admits_as_the_standard_says) {
  std::shared_mutex mutex;
  for (const bool hot : {false, true}) {
    if (hot) contract::make_hot(contract::lock_of(mutex));
    mutex.lock_shared();
    EXPECT_EQ(contract::seen_elsewhere(contract::lock_of(mutex)), contract::holding::read);
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
    mutex.unlock_shared();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_shared());
    EXPECT_EQ(contract::seen_elsewhere(contract::lock_of(mutex)), contract::holding::written);
    mutex.unlock();
    EXPECT_EQ(contract::seen_elsewhere(contract::lock_of(mutex)), contract::holding::free);
  }
}

TEST(shared_mutex, throws_when_the_writer_asks_again) {
  std::shared_mutex mutex;
  for (const bool hot : {false, true}) {
    if (hot) contract::make_hot(contract::lock_of(mutex));
    mutex.lock();
    for (const bool shared : {false, true}) {
      try {
        shared ? mutex.lock_shared() : mutex.lock();
        ADD_FAILURE() << "it got the lock twice";
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
      }
    }
    mutex.unlock();
  }
}

TEST(shared_mutex, a_new_one_in_the_place_of_a_hot_one_is_free) {
  alignas(std::shared_mutex) unsigned char memory[sizeof(std::shared_mutex)];
  for (int round = 0; round < 50; ++round) {
    auto* mutex = new (memory) std::shared_mutex;
    EXPECT_TRUE(mutex->try_lock());
    mutex->unlock();
    contract::make_hot(contract::lock_of(*mutex));
    EXPECT_EQ(contract::seen_elsewhere(contract::lock_of(*mutex)), contract::holding::free);
    contract::make_hot(contract::lock_of(*mutex));
    mutex->~shared_mutex();
  }
}

TEST(shared_mutex, the_timed_one_honours_both_clocks) {
  std::shared_timed_mutex mutex;
  std::atomic<int> errors{0};
  mutex.lock();
  std::thread([&] {
    const auto steady = std::chrono::steady_clock::now() + milliseconds(20);
    if (mutex.try_lock_until(steady) || std::chrono::steady_clock::now() < steady) ++errors;
    const auto system = std::chrono::system_clock::now() + milliseconds(20);
    if (mutex.try_lock_shared_until(system) || std::chrono::system_clock::now() < system) ++errors;
    if (mutex.try_lock_for(milliseconds(1)) || mutex.try_lock_shared_for(milliseconds(1))) ++errors;
  }).join();
  mutex.unlock();
  std::thread([&] {
    if (!mutex.try_lock_for(milliseconds(0))) ++errors;
    mutex.unlock();
    if (!mutex.try_lock_shared_for(milliseconds(0))) ++errors;
    mutex.unlock_shared();
  }).join();
  EXPECT_EQ(errors, 0);
}

TEST(shared_mutex, readers_see_whole_writes) {
  std::shared_mutex mutex;
  long left = 0, right = 0;
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 400; ++round) {
        {
          std::unique_lock guard(mutex);
          left = left + 1;
          right = right + 1;
        }
        for (int reads = 0; reads < 200; ++reads) {
          std::shared_lock guard(mutex);
          if (left != right) ++errors;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(left, 1'600);
}

}  // namespace
