// SPDX-License-Identifier: Apache-2.0
// readmost_rwlock_held(): what it says of a lock in each state.
#include <gtest/gtest.h>
#include <readmost.h>

#include <atomic>
#include <thread>

#include "locks.hpp"
#include "support/helper_thread.hpp"

namespace {

using test::helper_thread;

// Calls check(lock) for each preference, with a cold lock and with one that was read often.
template <class Check>
void for_each_lock(Check check) {
  for (const int preference : c_api::preferences) {
    for (const bool hot : {false, true}) {
      SCOPED_TRACE(c_api::name_of(preference));
      SCOPED_TRACE(hot ? "hot" : "cold");
      readmost_rwlock_t lock;
      c_api::init(lock, preference);
      if (hot) c_api::make_hot(lock);
      check(lock);
      EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_NOT_HELD);
      readmost_rwlock_destroy(&lock);
    }
  }
}

TEST(held, tells_readers_and_writers_of_any_thread) {
  for_each_lock([](readmost_rwlock_t& lock) {
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_NOT_HELD);
    readmost_rwlock_rdlock(&lock);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    readmost_rwlock_rdlock(&lock);
    readmost_rwlock_rdunlock(&lock);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    readmost_rwlock_rdunlock(&lock);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_NOT_HELD);
    helper_thread other;
    other.call([&] { return readmost_rwlock_rdlock(&lock); });
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    other.call([&] { return readmost_rwlock_rdunlock(&lock); });
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_NOT_HELD);
    readmost_rwlock_wrlock(&lock);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_WRITING);
    readmost_rwlock_downgrade(&lock);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    readmost_rwlock_rdunlock(&lock);
  });
}

TEST(held, does_not_take_a_waiting_writer_for_a_holder) {
  for_each_lock([](readmost_rwlock_t& lock) {
    helper_thread writer;
    readmost_rwlock_rdlock(&lock);
    writer.begin([&] { return readmost_rwlock_wrlock(&lock); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    readmost_rwlock_rdunlock(&lock);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_WRITING);
    writer.call([&] { return readmost_rwlock_wrunlock(&lock); });
  });
}

TEST(held, sees_the_hold_of_a_thread_that_has_exited) {
  for_each_lock([](readmost_rwlock_t& lock) {
    std::thread([&] { readmost_rwlock_rdlock(&lock); }).join();
    EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    readmost_rwlock_rdunlock(&lock);
  });
}

// At every moment one of the two holds is there.
TEST(held, never_misses_a_hold_that_moves_to_the_count) {
  for (int turn = 0; turn < 200; ++turn) {
    readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
    c_api::make_hot(lock);
    std::atomic<bool> held{false};
    std::atomic<bool> exited{false};
    std::thread reader([&] {
      readmost_rwlock_rdlock(&lock);
      held = true;
    });
    while (!held) std::this_thread::yield();
    std::thread joiner([&] {
      reader.join();
      exited = true;
    });
    while (!exited) EXPECT_EQ(readmost_rwlock_held(&lock), READMOST_HELD_FOR_READING);
    joiner.join();
    readmost_rwlock_rdunlock(&lock);
    readmost_rwlock_destroy(&lock);
  }
}

}  // namespace
