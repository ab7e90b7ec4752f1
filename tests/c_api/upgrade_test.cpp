// SPDX-License-Identifier: Apache-2.0
// Upgrades that must be refused, and upgrades that must be woken.
#include <gtest/gtest.h>
#include <readmost.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "locks.hpp"
#include "support/helper_thread.hpp"
#include "support/single_step.hpp"
#include "support/stop.hpp"

namespace {

using c_api::in;
using c_api::is_free_elsewhere;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::helper_thread;

// Longer than a test waits for a call that hangs, so that such a thread ends and the test goes on.
timespec after_the_test() {
  return in(test::generous + seconds(2));
}

int read(readmost_rwlock_t& lock) {
  return readmost_rwlock_rdlock(&lock);
}

int upgrade_for_a_while(readmost_rwlock_t& lock) {
  const timespec end = after_the_test();
  return readmost_rwlock_clockupgrade(&lock, CLOCK_MONOTONIC, &end);
}

// Takes two holds of a new lock, each in its own way.
struct two_holds {
  const char* name;
  std::function<int(readmost_rwlock_t&)> take;
};

const two_holds sorts_of_two[] = {
    {"two passive holds",
     [](readmost_rwlock_t& lock) {
       c_api::make_hot(lock);
       return read(lock) + read(lock);
     }},
    {"an active hold, then a passive one",
     [](readmost_rwlock_t& lock) {
       const int first = read(lock);
       c_api::make_hot(lock);
       return first + read(lock);
     }},
    {"two active holds", [](readmost_rwlock_t& lock) { return read(lock) + read(lock); }},
};

void expect_that_two_holds_are_refused(int preference, const two_holds& sort, std::size_t others) {
  SCOPED_TRACE(c_api::name_of(preference));
  SCOPED_TRACE(sort.name);
  SCOPED_TRACE(testing::Message() << "beside holds of " << others << " other locks");
  readmost_rwlock_t lock;
  c_api::init(lock, preference);
  int taken = -1;
  int tried = -1;
  int awaited = -1;
  int untimed = -1;
  const c_api::other_holds held(others);
  taken = sort.take(lock);
  tried = readmost_rwlock_tryupgrade(&lock);
  const timespec soon = in(milliseconds(500));
  awaited = readmost_rwlock_clockupgrade(&lock, CLOCK_MONOTONIC, &soon);
  // This one would wait for ever.
  untimed = awaited == EDEADLK ? readmost_rwlock_upgrade(&lock) : awaited;
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(tried, EBUSY);
  EXPECT_EQ(awaited, EDEADLK);
  EXPECT_EQ(untimed, EDEADLK);
  ASSERT_EQ(readmost_rwlock_rdunlock(&lock), 0);
  EXPECT_FALSE(is_free_elsewhere(lock)) << "one hold is left";
  EXPECT_EQ(upgrade_for_a_while(lock), 0);
  EXPECT_EQ(readmost_rwlock_wrunlock(&lock), 0);
  EXPECT_TRUE(is_free_elsewhere(lock));
}

// A thread's record has a home slot for each of eight holds, if their addresses are good for that.
constexpr std::size_t most_that_leave_room = 6;

TEST(upgrade, with_two_holds_of_ones_own_is_refused_and_leaves_both) {
  for (const int preference : c_api::preferences) {
    for (const two_holds& sort : sorts_of_two) {
      for (std::size_t others = 0; others <= most_that_leave_room; ++others) {
        expect_that_two_holds_are_refused(preference, sort, others);
      }
    }
  }
}

TEST(upgrade, with_two_holds_of_ones_own_is_refused_also_when_they_find_no_room_in_the_record) {
  for (const int preference : c_api::preferences) {
    for (const two_holds& sort : sorts_of_two) {
      for (std::size_t others = most_that_leave_room + 1; others <= c_api::other_holds::most;
           ++others) {
        expect_that_two_holds_are_refused(preference, sort, others);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(upgrade, of_the_only_hold_succeeds_whatever_else_the_thread_holds) {
  for (const int preference : c_api::preferences) {
    for (const bool hot : {false, true}) {
      for (std::size_t others = 0; others <= c_api::other_holds::most; ++others) {
        SCOPED_TRACE(c_api::name_of(preference));
        SCOPED_TRACE(hot ? "hot" : "cold");
        SCOPED_TRACE(testing::Message() << "beside holds of " << others << " other locks");
        readmost_rwlock_t lock;
        c_api::init(lock, preference);
        if (hot) c_api::make_hot(lock);
        const c_api::other_holds held(others);
        ASSERT_EQ(read(lock), 0);
        ASSERT_EQ(upgrade_for_a_while(lock), 0);
        ASSERT_EQ(readmost_rwlock_wrunlock(&lock), 0);
        EXPECT_TRUE(is_free_elsewhere(lock));
      }
    }
  }
}

// Any thread may release a read hold. Here the upgrader's hold is counted in the lock, and the
// other one is in its owner's record, where its release by a third thread changes nothing.
TEST(upgrade, is_woken_when_another_thread_releases_the_last_other_hold) {
  for (const int preference : c_api::preferences) {
    for (const bool upgrader_first : {true, false}) {
      SCOPED_TRACE(c_api::name_of(preference));
      SCOPED_TRACE(upgrader_first ? "the upgrader holds first" : "the other holds first");
      readmost_rwlock_t lock;
      c_api::init(lock, preference);
      c_api::make_hot(lock);
      helper_thread upgrader, other;
      ASSERT_EQ((upgrader_first ? upgrader : other).call([&] { return read(lock); }), 0);
      ASSERT_EQ((upgrader_first ? other : upgrader).call([&] { return read(lock); }), 0);
      upgrader.begin([&] { return upgrade_for_a_while(lock); });
      ASSERT_TRUE(upgrader.falls_asleep());
      ASSERT_EQ(readmost_rwlock_rdunlock(&lock), 0);
      EXPECT_EQ(upgrader.end(), 0);
      ASSERT_EQ(upgrader.end(), 0) << "not at its deadline either";
      EXPECT_EQ(upgrader.call([&] { return readmost_rwlock_wrunlock(&lock); }), 0);
      EXPECT_TRUE(is_free_elsewhere(lock));
      EXPECT_EQ(readmost_rwlock_destroy(&lock), 0);
      if (HasFailure()) return;
    }
  }
}

#if CAN_STEP

// A writer is stopped at many moments of its lock operation while two readers begin to upgrade. If
// it had claimed the lock, both sleep until it is known whether the writer is inside. A third
// reader leaves, which wakes the first; that one is stopped before it can do anything, and the
// writer goes on.
TEST(upgrade, of_two_that_wait_for_a_writers_claim_both_are_woken) {
  const test::machine_code library = test::code_around(readmost_rwlock_upgrade);
  // A claim is undecided for some hundreds of steps; what follows is the writer's own wait.
  constexpr std::size_t stride = 100;
  constexpr std::size_t last_of_claim = 700;
  for (std::size_t step = 0; step <= last_of_claim; step += stride) {
    SCOPED_TRACE(testing::Message() << "the writer is stopped at step " << step);
    readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
    helper_thread first, second, third, writer;
    ASSERT_EQ(second.call([&] { return read(lock); }), 0);
    ASSERT_EQ(third.call([&] { return read(lock); }), 0);
    c_api::make_hot(lock);
    ASSERT_EQ(first.call([&] { return read(lock); }), 0);

    test::stop of_writer, of_first;
    std::atomic<bool> first_is_to_stop{false};

    writer.begin([&] {
      test::interrupt_at(
          step, library, [&] { readmost_rwlock_wrlock(&lock); }, [&] { of_writer.here(); });
      return readmost_rwlock_wrunlock(&lock);
    });
    ASSERT_TRUE(test::wait_until([&] { return of_writer.is_reached() || !writer.in_call(); }));
    const auto upgrade_and_leave = [&](helper_thread& upgrader, auto call) {
      upgrader.begin([&lock, call] {
        int result = -1;
        call([&] { result = upgrade_for_a_while(lock); });
        result == 0 ? readmost_rwlock_wrunlock(&lock) : readmost_rwlock_rdunlock(&lock);
        return result;
      });
      ASSERT_TRUE(upgrader.settles());
    };
    upgrade_and_leave(first, [&](const auto& upgrade) {
      test::step_through(library, upgrade, [&](std::size_t) {
        if (!first_is_to_stop) return true;
        of_first.here();
        return false;
      });
    });
    upgrade_and_leave(second, [](const auto& upgrade) { upgrade(); });
    first_is_to_stop = true;
    ASSERT_EQ(third.call([&] { return readmost_rwlock_rdunlock(&lock); }), 0);
    for (int i = 0; i < 20 && !of_first.is_reached(); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    of_writer.release();
    ASSERT_TRUE(writer.settles());
    of_first.release();
    const int result_of_first = first.end();
    const int result_of_second = second.end();
    EXPECT_NE(result_of_first, helper_thread::still_running);
    EXPECT_NE(result_of_second, helper_thread::still_running);
    EXPECT_TRUE(result_of_first == 0 || result_of_second == 0);
    EXPECT_EQ(writer.end(), 0);
    if (HasFailure()) return;
    EXPECT_TRUE(is_free_elsewhere(lock));
  }
}

#endif

}  // namespace
