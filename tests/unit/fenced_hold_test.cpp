// SPDX-License-Identifier: Apache-2.0
// Passive holds whose readers execute a fence: where membarrier(2) is missing, and where a trial of
// the bias has chosen them. In children, where the library asks for membarrier again.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "lock/bias_trial.hpp"
#include "statistics/lock_statistics.hpp"
#include "support/forbidden_calls.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/sanitizers.hpp"
#include "support/sorts.hpp"
#include "support/surface.hpp"
#include "threads/registry.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

bool forbid_membarrier() {
  return test::forbid_calls({SYS_membarrier}, ENOSYS);
}

// `body` gets a lock that has earned its bias there.
void without_membarrier(const std::function<void(rwlock&)>& body, rules how = {}) {
  test::in_a_child([&] {
    if (!forbid_membarrier()) return;  // the system has no filters
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock, how));
    body(lock);
  });
}

// The same, and once more with membarrier, in a trial that does not end.
void with_fences(const std::function<void(rwlock&)>& body, rules how = {}) {
  without_membarrier(body, how);
  test::in_a_child([&] {
    bias_trials[0].fences_end.store(~std::uint64_t{0});
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock, how));
    ASSERT_FALSE(test::is_biased(lock));
    body(lock);
  });
}

int write_once(rwlock& lock, rules how = {}) {
  const int result = test::lock(lock, how);
  if (result == test::acquired) test::unlock(lock, how);
  return result;
}

// Threads that read and write under the lock; the number of times that they found the other kind
// inside, or what a write had left half done.
int errors_under_load(rwlock& lock, rules how = {}) {
  std::atomic<bool> stop{false};
  std::atomic<int> errors{0};
  std::atomic<int> readers_inside{0};
  int first = 0;
  int second = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        if (test::lock_shared(lock, how) != test::acquired) ++errors;
        if (first != second) ++errors;
        readers_inside.fetch_add(1, std::memory_order_relaxed);
        readers_inside.fetch_sub(1, std::memory_order_relaxed);
        if (!test::unlock_shared(lock)) ++errors;
      }
    });
  }
  // On a busy machine preferred readers keep each write waiting for milliseconds.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  for (int i = 0; i < 20'000 && std::chrono::steady_clock::now() < end; ++i) {
    if (test::lock(lock, how) != test::acquired) ++errors;
    ++first;
    if (readers_inside.load(std::memory_order_relaxed) != 0) ++errors;
    ++second;
    test::unlock(lock, how);
    // Now and then the lock gets its bias in between.
    if (i % 100 == 0) lock.balance.store(20'000);
    if (i % 10 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& one : readers) one.join();
  return errors;
}

TEST(fenced_holds, are_passive_and_leave_their_thread_dormant) {
  without_membarrier([](rwlock& lock) {
    EXPECT_FALSE(test::is_biased(lock)) << "threads would take the path without a fence";
    EXPECT_FALSE(membarrier_works());
    const std::uint64_t before = test::passive_reads_of_this_thread();
    test::read(lock, 10);
    EXPECT_EQ(test::passive_reads_of_this_thread(), before + 10);
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_TRUE(test::holds_passively(lock));
    EXPECT_EQ(rwlock::readers(lock.state.load()), 0U);
    EXPECT_FALSE(is_online(my_record()));
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_FALSE(test::holds_passively(lock));
  });
}

TEST(fenced_holds, are_passive_where_a_trial_has_chosen_them) {
  with_fences([](rwlock& lock) {
    EXPECT_TRUE(test::is_biased_by_fences(lock));
    const std::uint64_t before = test::passive_reads_of_this_thread();
    test::read(lock, 10);
    EXPECT_EQ(test::passive_reads_of_this_thread(), before + 10);
  });
}

TEST(fenced_holds, keep_writers_out_until_they_end) {
  with_fences([](rwlock& lock) {
    helper_thread writer;
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_EQ(writer.call([&] { return test::try_lock(lock); }), test::busy);
    writer.begin([&] { return write_once(lock); });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), test::acquired);
  });
}

TEST(fenced_holds, keep_writers_out_until_the_writers_deadline) {
  with_fences([](rwlock& lock) {
    helper_thread writer;
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_EQ(writer.call([&] {
      const test::hasty_rules soon({}, 5'000'000);
      return write_once(lock, soon);
    }),
              test::timed_out);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.call([&] { return write_once(lock); }), test::acquired);
  });
}

TEST(fenced_holds, and_writers_exclude_each_other_under_load) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  for (const auto prefers : test::preferences) {
    const rules how{.prefers = prefers};
    with_fences([&](rwlock& lock) { EXPECT_EQ(errors_under_load(lock, how), 0); }, how);
  }
}

TEST(fenced_holds, are_nested_where_the_home_slot_is_taken) {
  with_fences([](rwlock& lock) {
    std::vector<rwlock> others(64);
    rwlock* other = nullptr;
    for (rwlock& each : others) {
      if (home_slot(&each) == home_slot(&lock)) other = &each;
    }
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(test::earn_bias(*other));
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    ASSERT_EQ(test::lock_shared(*other), test::acquired);
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_TRUE(test::holds_passively(*other));
    helper_thread writer;
    EXPECT_EQ(writer.call([&] { return test::try_lock(*other); }), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_TRUE(test::unlock_shared(*other));
    EXPECT_EQ(writer.call([&] { return write_once(*other); }), test::acquired);
    EXPECT_EQ(writer.call([&] { return test::try_lock(lock); }), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.call([&] { return write_once(lock); }), test::acquired);
  });
}

TEST(fenced_holds, are_found_although_many_rounds_have_taken_the_record_out_of_the_index) {
  with_fences([](rwlock& lock) {
    helper_thread writer;
    for (int i = 0; i < 40; ++i) {
      // Too few reads to earn the bias, which the writer therefore leaves.
      lock.balance.store(20'000);
      ASSERT_EQ(writer.call([&] { return write_once(lock); }), test::acquired);
      if (i % 20 != 19) continue;
      ASSERT_EQ(test::lock_shared(lock), test::acquired);
      EXPECT_TRUE(test::holds_passively(lock)) << i;
      EXPECT_EQ(writer.call([&] { return test::try_lock(lock); }), test::busy);
      EXPECT_TRUE(test::unlock_shared(lock));
    }
  });
}

TEST(fenced_holds, are_upgraded) {
  with_fences([](rwlock& lock) {
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    ASSERT_TRUE(test::holds_passively(lock));
    EXPECT_EQ(test::upgrade(lock), test::acquired);
    helper_thread other;
    EXPECT_EQ(other.call([&] { return test::try_lock_shared(lock); }), test::busy);
    test::unlock(lock);
    EXPECT_EQ(other.call([&] { return test::try_lock_shared(lock); }), test::acquired);
    EXPECT_TRUE(other.call([&] { return test::unlock_shared(lock) ? 1 : 0; }));
  });
}

TEST(fenced_holds, are_released_by_another_thread) {
  with_fences([](rwlock& lock) {
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    ASSERT_TRUE(test::holds_passively(lock));
    helper_thread other;
    EXPECT_TRUE(other.call([&] { return test::unlock_shared(lock) ? 1 : 0; }));
    EXPECT_EQ(other.call([&] { return write_once(lock); }), test::acquired);
    test::read(lock, 2);
    EXPECT_EQ(write_once(lock), test::acquired);
  });
}

TEST(fenced_holds, outlive_their_thread) {
  with_fences([](rwlock& lock) {
    std::thread([&] {
      test::lock_shared(lock);
      EXPECT_TRUE(test::holds_passively(lock));
    }).join();
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(write_once(lock), test::acquired);
  });
}

TEST(fenced_holds, go_on_in_a_child) {
  with_fences([](rwlock& lock) {
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    test::in_a_child([&] {
      EXPECT_EQ(test::try_lock(lock), test::busy);
      EXPECT_TRUE(test::unlock_shared(lock));
      EXPECT_EQ(write_once(lock), test::acquired);
    });
    EXPECT_TRUE(test::unlock_shared(lock));
  });
}

TEST(fenced_holds, are_counted_by_the_statistics_of_locks) {
  test::in_a_child([] {
    if (!forbid_membarrier()) return;
    enable_lock_statistics(false);
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock));
    const std::uint64_t before = test::passive_reads_of_this_thread();
    test::read(lock, 10);
    EXPECT_EQ(test::passive_reads_of_this_thread(), before + 10);
    EXPECT_EQ(write_once(lock), test::acquired);
  });
}

// --- Where membarrier stops working --------------------------------------------------------------

TEST(fenced_holds, follow_on_those_of_threads_that_were_online) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::in_a_child([] {
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock));
    ASSERT_TRUE(test::is_biased(lock));
    helper_thread reader;
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    // For this thread alone.
    if (!forbid_membarrier()) return;
    helper_thread writer;
    writer.begin([&] { return write_once(lock); });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    EXPECT_TRUE(reader.call([&] { return test::unlock_shared(lock) ? 1 : 0; }));
    EXPECT_EQ(writer.end(), test::acquired);
    EXPECT_FALSE(membarrier_works());
    lock.balance.store(20'000);
    for (int i = 0; i < test::reads_that_earn_bias && !test::has_bias(lock); ++i) {
      test::read(lock, 1);
    }
    EXPECT_FALSE(test::is_biased(lock));
    EXPECT_TRUE(test::has_bias(lock));
    EXPECT_EQ(errors_under_load(lock), 0);
  });
}

// --- Where trials choose them, and give them up --------------------------------------------------

TEST(fenced_holds, and_usual_ones_follow_each_other_under_load) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  for (const auto prefers : test::preferences) {
    const rules how{.prefers = prefers};
    test::in_a_child([&] {
      rwlock lock;
      ASSERT_TRUE(test::earn_bias(lock, how));
      std::atomic<bool> stop{false};
      std::thread chooser([&] {
        for (bool fences = true; !stop; fences = !fences) {
          bias_trials[0].fences_end.store(fences ? ~std::uint64_t{0} : 0);
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
      EXPECT_EQ(errors_under_load(lock, how), 0);
      stop = true;
      chooser.join();
    });
  }
}

}  // namespace
