// SPDX-License-Identifier: Apache-2.0
// The domain in a child process: the forking thread goes on alone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <functional>
#include <new>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>

#include "hand_off.hpp"
#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;
using test::helper_thread;
using test::in_a_child;

TEST(fork, passive_holds_of_other_threads_count_in_the_child) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  helper_thread one, two;
  const auto enter = [&] { return test::lock_shared(lock); };
  ASSERT_EQ(one.call(enter), test::acquired);
  ASSERT_EQ(two.call(enter), test::acquired);
  ASSERT_EQ(passive_holds(default_domain, &lock, nullptr, 0), 2);
  in_a_child([&] {
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(test::try_lock(lock), test::acquired);
    test::unlock(lock);
  });
  EXPECT_EQ(test::try_lock(lock), test::busy) << "the parent's own";
  const auto leave = [&] { return test::unlock_shared(lock); };
  EXPECT_EQ(one.call(leave), 1);
  EXPECT_EQ(two.call(leave), 1);
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(fork, a_lock_in_shared_memory_is_left_to_those_who_wait_in_the_parent) {
  test::shared_object<readmost::shared_mutex> mutex;
  helper_thread reader, writer;
  ASSERT_EQ(reader.call([&] { mutex->lock_shared(); }), 0);
  writer.begin([&] {
    mutex->lock();
    mutex->unlock();
  });
  ASSERT_TRUE(writer.falls_asleep());
  in_a_child([] {});
  EXPECT_EQ(reader.call([&] { mutex->unlock_shared(); }), 0);
  ASSERT_EQ(writer.end(), 0);
  ASSERT_TRUE(mutex->try_lock_shared());
  EXPECT_FALSE(mutex->try_lock()) << "a reader is inside";
  mutex->unlock_shared();
  EXPECT_TRUE(mutex->try_lock());
  mutex->unlock();
}

TEST(fork, the_forking_thread_keeps_its_holds_in_the_child) {
  rwlock biased, active;
  active.traits.store(rwlock::never_biased);
  ASSERT_TRUE(test::earn_bias(biased));
  ASSERT_EQ(test::lock_shared(biased), test::acquired);
  ASSERT_EQ(test::lock_shared(active), test::acquired);
  in_a_child([&] {
    for (rwlock* lock : {&biased, &active}) {
      EXPECT_EQ(test::try_lock(*lock), test::busy);
      EXPECT_TRUE(test::unlock_shared(*lock));
      EXPECT_EQ(test::try_lock(*lock), test::acquired);
      test::unlock(*lock);
    }
  });
  EXPECT_TRUE(test::unlock_shared(biased));
  EXPECT_TRUE(test::unlock_shared(active));
}

TEST(fork, a_thread_of_the_parent_takes_no_part_in_the_child) {
  helper_thread other;
  other.call([] { readmost::online(); });
  enlist();
  in_a_child([] { EXPECT_EQ(reach_consensus(default_domain, &my_record()).version, 0U); });
}

TEST(fork, the_child_s_own_locks_earn_bias_and_lose_it) {
  helper_thread other;
  rwlock inherited;
  ASSERT_TRUE(test::earn_bias(inherited));
  other.call([&] { test::read(inherited, 10); });
  in_a_child([&] {
    EXPECT_TRUE(collect_statistics().membarrier);
    rwlock own;
    for (rwlock* lock : {&inherited, &own}) {
      EXPECT_TRUE(test::earn_bias(*lock));
      const std::uint64_t before = test::passive_reads_of_this_thread();
      test::read(*lock, 10);
      EXPECT_EQ(test::passive_reads_of_this_thread(), before + 10);
      EXPECT_EQ(test::try_lock(*lock), test::acquired);
      EXPECT_EQ(test::try_lock_shared(*lock), test::busy);
      test::unlock(*lock);
    }
  });
}

TEST(fork, the_child_s_statistics_start_from_nothing) {
  rwlock biased, active;
  active.traits.store(rwlock::never_biased);
  ASSERT_TRUE(test::earn_bias(biased));
  helper_thread other;
  other.call([&] { test::read(biased, 100); });
  test::write(biased);
  in_a_child([&] {
    statistics all = collect_statistics();
    EXPECT_EQ(all.locks, 0U);
    EXPECT_EQ(all.passive_reads, 0U);
    EXPECT_EQ(all.active_reads, 0U);
    EXPECT_EQ(all.writes, 0U);
    EXPECT_EQ(all.revocations, 0U);
    EXPECT_EQ(all.rounds_by_membarrier, 0U);
    EXPECT_EQ(all.rounds_by_reports, 0U);
    test::read(active, 5);
    test::write(active);
    all = collect_statistics();
    EXPECT_EQ(all.locks, 1U);
    EXPECT_EQ(all.active_reads, 5U);
    EXPECT_EQ(all.writes, 1U);
  });
}

// The test sets the state itself: it cannot fork between two given instructions of another thread.
TEST(fork, a_writer_that_had_not_decided_yet_is_not_inside_in_the_child) {
  rwlock lock;
  test::write(lock);
  helper_thread writer;
  writer.call([&] { enlist()->deciding.store(reinterpret_cast<std::uintptr_t>(&lock)); });
  lock.state.fetch_or(rwlock::claiming);
  in_a_child([&] {
    EXPECT_EQ(test::try_lock_shared(lock), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(test::try_lock(lock), test::acquired);
    test::unlock(lock);
  });
  writer.call([] { my_record().deciding.store(0); });
}

TEST(fork, a_writer_of_a_lock_in_shared_memory_goes_on_deciding_in_the_parent) {
  test::shared_object<rwlock> lock;
  helper_thread writer;
  writer.call(
      [&] { enlist()->deciding.store(reinterpret_cast<std::uintptr_t>(lock.operator->())); });
  lock->state.store(rwlock::claiming);
  in_a_child([] {});
  EXPECT_EQ(lock->state.load(), rwlock::claiming);
  writer.call([] { my_record().deciding.store(0); });
}

// Memory that a child does not inherit.
class own_memory {
 public:
  own_memory()
      : pages_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_EQ(madvise(pages_, size, MADV_DONTFORK), 0);
    lock_ = new (pages_) rwlock;
  }
  own_memory(const own_memory&) = delete;
  own_memory& operator=(const own_memory&) = delete;
  ~own_memory() { munmap(pages_, size); }

  rwlock& lock() { return *lock_; }

 private:
  static constexpr std::size_t size = 4096;
  void* pages_;
  rwlock* lock_;
};

TEST(fork, a_lock_that_the_child_does_not_inherit_is_left_alone) {
  own_memory held, decided, awaited;
  helper_thread reader, decider, waiter;
  ASSERT_TRUE(test::earn_bias(held.lock()));
  ASSERT_EQ(reader.call([&] { return test::lock_shared(held.lock()); }), test::acquired);
  decider.call(
      [&] { enlist()->deciding.store(reinterpret_cast<std::uintptr_t>(&decided.lock())); });
  ASSERT_EQ(test::lock(awaited.lock()), test::acquired);
  waiter.begin([&] { test::write(awaited.lock()); });
  ASSERT_TRUE(waiter.falls_asleep());
  in_a_child([] { EXPECT_NE(enlist(), nullptr); });
  decider.call([] { my_record().deciding.store(0); });
  test::unlock(awaited.lock());
  EXPECT_EQ(waiter.end(), 0);
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(held.lock()); }), 1);
}

TEST(fork, a_writer_that_was_inside_stays_inside_in_the_child) {
  rwlock lock;
  helper_thread writer;
  ASSERT_EQ(writer.call([&] { return test::lock(lock); }), test::acquired);
  in_a_child([&] {
    EXPECT_EQ(test::try_lock_shared(lock), test::busy);
    EXPECT_EQ(test::try_lock(lock), test::busy);
  });
  writer.call([&] { test::unlock(lock); });
}

// --- Threads that wait at the fork are not there in the child ------------------------------------

// Every operation works in the child: threads that waited in the parent do not obstruct it. Only a
// wait for a thread that does not exist in the child reaches the deadline.
void expect_free_for_all(rwlock& lock, preference prefers) {
  const test::hasty_rules in_time({.prefers = prefers}, 5'000'000'000);
  const rules how = in_time;
  ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
  ASSERT_EQ(test::upgrade(lock, how), test::acquired);
  downgrade(lock, how);
  ASSERT_TRUE(test::unlock_shared(lock));
  ASSERT_EQ(test::lock(lock, how), test::acquired);
  test::unlock(lock, how);
  ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
  ASSERT_TRUE(test::unlock_shared(lock));
  constexpr std::uint64_t traces = rwlock::waiting_writers | rwlock::waiting_readers |
                                   rwlock::reader_phase | rwlock::upgrading | rwlock::handoff;
  ASSERT_EQ(lock.state.load() & traces, 0U);
}

// Runs the body for locks of every policy, in the process's domain and in another, with passive and
// with active holds.
void for_each_lock(const std::function<void(rwlock&, preference)>& body) {
  const readmost::lock_domain own;
  for (const preference prefers : test::preferences) {
    for (const unsigned domain : {0U, own.number()}) {
      for (const test::hold h : test::holds) {
        SCOPED_TRACE(test::name_of(prefers));
        SCOPED_TRACE(test::name_of(h));
        SCOPED_TRACE(domain);
        rwlock lock{.domain = static_cast<std::uint8_t>(domain)};
        if (h == test::hold::passive) {
          ASSERT_TRUE(test::earn_bias(lock));
        } else {
          test::keep_without_bias(lock);
        }
        body(lock, prefers);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(fork, a_writer_that_waited_does_not_wait_in_the_child) {
  for_each_lock([](rwlock& lock, preference prefers) {
    helper_thread writer;
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    writer.begin([&] { test::write(lock, {.prefers = prefers}); });
    ASSERT_TRUE(writer.falls_asleep());
    in_a_child([&] {
      EXPECT_TRUE(test::unlock_shared(lock));
      expect_free_for_all(lock, prefers);
    });
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), 0) << "it goes on waiting in the parent";
  });
}

TEST(fork, a_reader_that_waited_does_not_wait_in_the_child) {
  for_each_lock([](rwlock& lock, preference prefers) {
    helper_thread reader;
    ASSERT_EQ(test::lock(lock), test::acquired);
    reader.begin([&] { return test::lock_shared(lock, {.prefers = prefers}); });
    ASSERT_TRUE(reader.falls_asleep());
    in_a_child([&] {
      test::unlock(lock, {.prefers = prefers});
      expect_free_for_all(lock, prefers);
    });
    test::unlock(lock, {.prefers = prefers});
    EXPECT_EQ(reader.end(), test::acquired);
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  });
}

TEST(fork, a_reader_that_was_upgrading_only_reads_in_the_child) {
  for_each_lock([](rwlock& lock, preference prefers) {
    helper_thread upgrader;
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    ASSERT_EQ(upgrader.call([&] { return test::lock_shared(lock); }), test::acquired);
    upgrader.begin([&] { return test::upgrade(lock, {.prefers = prefers}); });
    ASSERT_TRUE(upgrader.falls_asleep());
    in_a_child([&] {
      EXPECT_TRUE(test::unlock_shared(lock));
      EXPECT_EQ(test::try_lock(lock), test::busy) << "the hold of the upgrader is left";
      EXPECT_TRUE(test::unlock_shared(lock));
      expect_free_for_all(lock, prefers);
    });
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(upgrader.end(), test::acquired);
    upgrader.call([&] { test::unlock(lock, {.prefers = prefers}); });
  });
}

// A writer that was woken and found the lock taken again keeps others out. It is made sure that it
// does: the lock changes hands before it gets there.
TEST(fork, a_writer_that_asked_to_be_next_does_not_keep_the_child_out) {
  for_each_lock([](rwlock& lock, preference prefers) {
    helper_thread writer;
    ASSERT_TRUE(test::has_it_ask_to_be_next(lock, writer, {.prefers = prefers}));
    in_a_child([&] {
      test::unlock(lock, {.prefers = prefers});
      expect_free_for_all(lock, prefers);
    });
    test::unlock(lock, {.prefers = prefers});
    EXPECT_EQ(writer.end(), test::acquired);
    writer.call([&] { test::unlock(lock, {.prefers = prefers}); });
  });
}

// All of them wait at once, queued behind the forking thread.
TEST(fork, a_whole_queue_is_gone_in_the_child) {
  for_each_lock([](rwlock& lock, preference prefers) {
    std::array<helper_thread, 2> readers, writers;
    ASSERT_EQ(test::lock(lock), test::acquired);
    for (helper_thread& writer : writers) {
      writer.begin([&] { test::write(lock, {.prefers = prefers}); });
    }
    for (helper_thread& reader : readers) {
      reader.begin([&] { test::read(lock, 1, {.prefers = prefers}); });
    }
    for (helper_thread& writer : writers) ASSERT_TRUE(writer.falls_asleep());
    in_a_child([&] {
      test::unlock(lock, {.prefers = prefers});
      expect_free_for_all(lock, prefers);
    });
    test::unlock(lock, {.prefers = prefers});
    for (helper_thread& writer : writers) EXPECT_EQ(writer.end(), 0);
    for (helper_thread& reader : readers) EXPECT_EQ(reader.end(), 0);
  });
}

}  // namespace
