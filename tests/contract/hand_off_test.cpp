// SPDX-License-Identifier: Apache-2.0
// A thread that takes the lock again as soon as it has released it leaves others their turn.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "configuration.hpp"
#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using test::helper_thread;

using lock_function = int (*)(pthread_rwlock_t*);

// A thread that holds the lock for a millisecond at a time, without a pause between.
class looping_thread {
 public:
  looping_thread(pthread_rwlock_t* lock, lock_function enter)
      : thread_([this, lock, enter] {
          while (!stop_ && turns_ < most_turns) {
            if (enter(lock) != 0) ++errors_;
            ++turns_;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (pthread_rwlock_unlock(lock) != 0) ++errors_;
          }
        }) {}
  looping_thread(const looping_thread&) = delete;
  looping_thread& operator=(const looping_thread&) = delete;
  ~looping_thread() { end(); }

  // Time is up for those that wait for it.
  static constexpr int most_turns = 600;

  int turns() const { return turns_; }
  int errors() const { return errors_; }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> turns_{0};
  std::atomic<int> errors_{0};
  std::thread thread_;
};

// Generous: hand-off by design takes a turn or two.
constexpr int enough_turns = 40;

void expect_a_turn(lock_function looping, lock_function waiting) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    looping_thread busy(lock, looping);
    helper_thread other;
    int turns[3] = {};
    int result = 0;
    for (int& taken : turns) {
      const int next = busy.turns() + 1;
      ASSERT_TRUE(test::wait_until([&] { return busy.turns() >= next; }));
      const int before = busy.turns();
      other.begin([&] {
        result |= waiting(lock);
        taken = busy.turns() - before;
        result |= pthread_rwlock_unlock(lock);
        return result;
      });
      ASSERT_EQ(other.end(), 0);
      if (taken > enough_turns) break;
    }
    busy.end();
    EXPECT_EQ(busy.errors(), 0);
    // glibc lets a writer take the lock ahead of one that it has woken.
    if (!contract::readmost_rules() && looping == waiting) continue;
    for (const int taken : turns) EXPECT_LE(taken, enough_turns);
  }
}

TEST(hand_off, a_writer_gets_in_beside_a_reader_that_reads_without_pause) {
  expect_a_turn(pthread_rwlock_rdlock, pthread_rwlock_wrlock);
}

TEST(hand_off, a_reader_gets_in_beside_a_writer_that_writes_without_pause) {
  expect_a_turn(pthread_rwlock_wrlock, pthread_rwlock_rdlock);
}

TEST(hand_off, a_writer_gets_in_beside_a_writer_that_writes_without_pause) {
  expect_a_turn(pthread_rwlock_wrlock, pthread_rwlock_wrlock);
}

}  // namespace
