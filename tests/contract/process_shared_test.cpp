// SPDX-License-Identifier: Apache-2.0
// Locks used by two processes: with the process-shared attribute, and without it in shared memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "locks.hpp"
#include "support/processes.hpp"

namespace {

using contract::holding;
using contract::seen_here;
using std::chrono::milliseconds;
using test::child_process;

struct area {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  test::steps parent, child;
  long left = 0, right = 0;  // equal whenever the lock is not held for writing
};

void expect_excluded_from_all(pthread_rwlock_t* lock) {
  for (const auto& operation : contract::untimed_operations()) {
    if (operation.tries) {
      EXPECT_EQ(operation.call(lock), EBUSY) << operation.name;
    }
  }
  for (const auto& operation : contract::timed_operations()) {
    EXPECT_EQ(contract::call_for(operation, lock, milliseconds(5)), ETIMEDOUT) << operation.name;
  }
}

void expect_only_reading(pthread_rwlock_t* lock) {
  EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
  EXPECT_EQ(pthread_rwlock_tryrdlock(lock), 0);
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  for (const auto& operation : contract::timed_operations()) {
    EXPECT_EQ(contract::call_for(operation, lock, milliseconds(5)),
              operation.writes ? ETIMEDOUT : 0)
        << operation.name;
    if (!operation.writes) {
      EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    }
  }
}

// Both processes call this and exchange roles at the end.
void play_first(area& a, test::steps& mine, test::steps& theirs, int from) {
  ASSERT_EQ(pthread_rwlock_wrlock(&a.lock), 0);
  mine.reach(from + 1);
  theirs.await(from + 1);
  usleep(10'000);  // lets the other process block, so that this unlock has a waiter to wake
  EXPECT_EQ(pthread_rwlock_unlock(&a.lock), 0);
  theirs.await(from + 2);
  expect_only_reading(&a.lock);
  mine.reach(from + 2);
  EXPECT_EQ(pthread_rwlock_wrlock(&a.lock), 0);
  EXPECT_EQ(pthread_rwlock_unlock(&a.lock), 0);
  mine.reach(from + 3);
}

void play_second(area& a, test::steps& mine, test::steps& theirs, int from) {
  theirs.await(from + 1);
  expect_excluded_from_all(&a.lock);
  mine.reach(from + 1);
  EXPECT_EQ(pthread_rwlock_rdlock(&a.lock), 0);
  mine.reach(from + 2);
  theirs.await(from + 2);
  usleep(10'000);
  EXPECT_EQ(pthread_rwlock_unlock(&a.lock), 0);
  theirs.await(from + 3);
}

void expect_shared_between_processes(area& a) {
  child_process child([&] {
    play_second(a, a.child, a.parent, 0);
    play_first(a, a.child, a.parent, 10);
  });
  play_first(a, a.parent, a.child, 0);
  play_second(a, a.parent, a.child, 10);
  child.wait();
  EXPECT_EQ(seen_here(&a.lock), holding::free);
}

TEST(process_shared, every_operation_excludes_and_wakes_across_two_processes) {
  for (const int kind : {0, 1, 2}) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    test::shared_object<area> a;
    contract::rwlock::init(&a->lock, kind, PTHREAD_PROCESS_SHARED);
    expect_shared_between_processes(*a.operator->());
    EXPECT_EQ(pthread_rwlock_destroy(&a->lock), 0);
  }
}

TEST(process_shared, a_lock_that_says_shared_at_byte_28_is_shared_without_init) {
  test::shared_object<area> a;
  a->lock.__data.__shared = 1;
  expect_shared_between_processes(*a.operator->());
}

TEST(process_shared, a_hot_lock_with_the_attribute_stays_shared) {
  test::shared_object<area> a;
  contract::rwlock::init(&a->lock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED);
  contract::make_hot(&a->lock);
  test::in_a_child([&] { contract::make_hot(&a->lock); });
  expect_shared_between_processes(*a.operator->());
}

void write_and_read_much(area& a, long writes) {
  for (long i = 0; i < writes; ++i) {
    ASSERT_EQ(pthread_rwlock_wrlock(&a.lock), 0);
    a.left = a.left + 1;
    a.right = a.right + 1;
    ASSERT_EQ(pthread_rwlock_unlock(&a.lock), 0);
    for (int reads = 0; reads < 4; ++reads) {
      ASSERT_EQ(pthread_rwlock_rdlock(&a.lock), 0);
      ASSERT_EQ(a.left, a.right);
      ASSERT_EQ(pthread_rwlock_unlock(&a.lock), 0);
    }
  }
}

TEST(process_shared, two_processes_lose_no_write) {
  constexpr long writes = 5'000;
  test::shared_object<area> a;
  contract::rwlock::init(&a->lock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED);
  child_process child([&] { write_and_read_much(*a.operator->(), writes); });
  write_and_read_much(*a.operator->(), writes);
  child.wait();
  EXPECT_EQ(a->left, 2 * writes);
  EXPECT_EQ(a->right, 2 * writes);
}

// Without the attribute the processes cannot wake one another (glibc's futex is private as well),
// so the tests below only use try functions.
void lock_by_trying(int (*attempt)(pthread_rwlock_t*), pthread_rwlock_t* lock) {
  const auto deadline = std::chrono::steady_clock::now() + contract::generous_wait;
  int result;
  while ((result = attempt(lock)) == EBUSY) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the lock never becomes free";
    sched_yield();
  }
  ASSERT_EQ(result, 0);
}

void write_and_read_much_by_trying(area& a, long writes) {
  for (long i = 0; i < writes; ++i) {
    ASSERT_NO_FATAL_FAILURE(lock_by_trying(pthread_rwlock_trywrlock, &a.lock));
    a.left = a.left + 1;
    a.right = a.right + 1;
    ASSERT_EQ(pthread_rwlock_unlock(&a.lock), 0);
    for (int reads = 0; reads < 100; ++reads) {
      ASSERT_NO_FATAL_FAILURE(lock_by_trying(pthread_rwlock_tryrdlock, &a.lock));
      ASSERT_EQ(a.left, a.right);
      ASSERT_EQ(pthread_rwlock_unlock(&a.lock), 0);
    }
  }
}

constexpr int alternations = 100;
constexpr long writes_by_trying = 500;

// `here` and `there` are the same memory, as mapped by each of the two processes.
void expect_exclusion_without_the_attribute(area& here, area& there) {
  child_process child([&] {
    contract::make_hot(&there.lock);
    there.child.reach(1);
    for (int i = 1; i <= alternations; ++i) {
      const int step = 10 * i;
      there.parent.await(step + 1);
      ASSERT_EQ(pthread_rwlock_trywrlock(&there.lock), EBUSY) << "the parent reads";
      ASSERT_EQ(pthread_rwlock_tryrdlock(&there.lock), 0);
      there.child.reach(step + 1);
      there.parent.await(step + 2);
      ASSERT_EQ(pthread_rwlock_unlock(&there.lock), 0);
      ASSERT_EQ(pthread_rwlock_trywrlock(&there.lock), 0) << "nobody holds it";
      there.child.reach(step + 2);
      there.parent.await(step + 3);
      ASSERT_EQ(pthread_rwlock_unlock(&there.lock), 0);
      there.child.reach(step + 3);
    }
    write_and_read_much_by_trying(there, writes_by_trying);
  });
  here.child.await(1);
  contract::make_hot(&here.lock);
  for (int i = 1; i <= alternations; ++i) {
    const int step = 10 * i;
    ASSERT_EQ(pthread_rwlock_tryrdlock(&here.lock), 0);
    here.parent.reach(step + 1);
    here.child.await(step + 1);
    ASSERT_EQ(pthread_rwlock_unlock(&here.lock), 0);
    ASSERT_EQ(pthread_rwlock_trywrlock(&here.lock), EBUSY) << "the child reads";
    here.parent.reach(step + 2);
    here.child.await(step + 2);
    ASSERT_EQ(pthread_rwlock_tryrdlock(&here.lock), EBUSY) << "the child writes";
    ASSERT_EQ(pthread_rwlock_trywrlock(&here.lock), EBUSY) << "the child writes";
    here.parent.reach(step + 3);
    here.child.await(step + 3);
  }
  write_and_read_much_by_trying(here, writes_by_trying);
  child.wait();
  EXPECT_EQ(here.left, 2 * writes_by_trying);
  EXPECT_EQ(here.right, 2 * writes_by_trying);
}

TEST(process_shared, a_lock_without_the_attribute_in_shared_anonymous_memory_excludes) {
  test::shared_object<area> a;
  expect_exclusion_without_the_attribute(*a.operator->(), *a.operator->());
}

TEST(process_shared, a_lock_without_the_attribute_that_was_hot_before_the_fork_excludes) {
  test::shared_object<area> a;
  contract::make_hot(&a->lock);
  expect_exclusion_without_the_attribute(*a.operator->(), *a.operator->());
}

TEST(process_shared, a_lock_without_the_attribute_held_across_the_fork_excludes) {
  test::shared_object<area> a;
  contract::make_hot(&a->lock);
  ASSERT_EQ(pthread_rwlock_rdlock(&a->lock), 0);
  test::in_a_child([&] {
    contract::make_hot(&a->lock);
    EXPECT_EQ(pthread_rwlock_trywrlock(&a->lock), EBUSY);
  });
  ASSERT_EQ(pthread_rwlock_unlock(&a->lock), 0);
  test::in_a_child([&] {
    EXPECT_EQ(pthread_rwlock_trywrlock(&a->lock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&a->lock), 0);
  });
}

area* map_file(int file, int flags = MAP_SHARED, void* at = nullptr) {
  void* memory = mmap(at, sizeof(area), PROT_READ | PROT_WRITE, flags, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<area*>(memory);
}

TEST(process_shared, a_lock_without_the_attribute_mapped_at_two_addresses_excludes) {
  const int file = memfd_create("contract", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, sizeof(area)), 0);
  area* here = map_file(file);
  area* there = map_file(file);
  ASSERT_TRUE(here != nullptr && there != nullptr && here != there);
  new (here) area();
  expect_exclusion_without_the_attribute(*here, *there);
  // The same within one process: a hold taken through one address counts for the other address.
  contract::make_hot(&here->lock);
  contract::make_hot(&there->lock);
  ASSERT_EQ(pthread_rwlock_rdlock(&here->lock), 0);
  EXPECT_EQ(pthread_rwlock_trywrlock(&there->lock), EBUSY);
  ASSERT_EQ(pthread_rwlock_unlock(&here->lock), 0);
  EXPECT_EQ(pthread_rwlock_trywrlock(&there->lock), 0);
  EXPECT_EQ(pthread_rwlock_tryrdlock(&here->lock), EBUSY);
  ASSERT_EQ(pthread_rwlock_unlock(&there->lock), 0);
  munmap(here, sizeof(area));
  munmap(there, sizeof(area));
  close(file);
}

TEST(process_shared, a_lock_without_the_attribute_in_system_v_memory_excludes) {
  const int id = shmget(IPC_PRIVATE, sizeof(area), 0600);
  ASSERT_GE(id, 0);
  void* memory = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  ASSERT_NE(memory, reinterpret_cast<void*>(-1));
  area* a = new (memory) area();
  expect_exclusion_without_the_attribute(*a, *a);
  shmdt(memory);
}

// A result cached for the private mapping must not apply to the mapping that replaces it.
TEST(process_shared, a_lock_in_a_shared_mapping_where_a_private_one_was_excludes) {
  area* a = map_file(-1, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_NE(a, nullptr);
  new (a) area();
  contract::make_hot(&a->lock);
  EXPECT_EQ(seen_here(&a->lock), holding::free);
  contract::make_hot(&a->lock);
  area* again = map_file(-1, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, a);
  ASSERT_EQ(again, a);
  new (a) area();
  expect_exclusion_without_the_attribute(*a, *a);
  munmap(a, sizeof(area));
}

TEST(process_shared, a_std_shared_mutex_in_shared_memory_excludes) {
  struct words {
    std::shared_mutex mutex;
    test::steps parent, child;
  };
  test::shared_object<words> w;
  const auto heat = [&] { contract::make_hot(contract::lock_of(w->mutex)); };
  heat();
  child_process child([&] {
    heat();
    w->mutex.lock_shared();
    w->child.reach(1);
    w->parent.await(1);
    w->mutex.unlock_shared();
    w->child.reach(2);
  });
  w->child.await(1);
  heat();
  EXPECT_FALSE(w->mutex.try_lock());
  w->parent.reach(1);
  w->child.await(2);
  ASSERT_TRUE(w->mutex.try_lock());
  w->mutex.unlock();
  child.wait();
}

}  // namespace
