// SPDX-License-Identifier: Apache-2.0
// A lock's memory may vanish as soon as the lock is free: a release must not touch it afterwards.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <thread>
#include <vector>

#include "locks.hpp"
#include "support/processes.hpp"

namespace {

// A page with a lock in it, so that an access after munmap faults.
struct page {
  pthread_rwlock_t lock;
  std::atomic<int> inside;
  std::atomic<int> users;
};

page* new_page(const contract::variant& v) {
  void* memory =
      mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  page* p = new (memory) page{};
  contract::prepare(&p->lock, v);
  return p;
}

// The address stays reserved, so that a late access faults and never hits a newer lock.
void forbid(page* p) {
  mprotect(p, sizeof *p, PROT_NONE);
}

class pages {
 public:
  pages(int count, const contract::variant& v) {
    for (int i = 0; i < count; ++i) all_.push_back(new_page(v));
  }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;
  ~pages() {
    for (page* p : all_) munmap(p, sizeof *p);
  }

  page* operator[](std::size_t i) { return all_[i]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<page*> all_;
};

// Readers come and go; a thread that locks for writing after the last one destroys the lock.
template <class LockForWriting>
void churn_with_readers(const contract::variant& v, int rounds, LockForWriting lock_for_writing) {
  constexpr int reader_count = 2;
  pages all(rounds, v);
  std::atomic<std::size_t> offered{0};
  std::atomic<int> errors{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < reader_count; ++i) {
    readers.emplace_back([&] {
      for (std::size_t at = 0; at < all.size(); ++at) {
        while (offered <= at) sched_yield();
        page* p = all[at];
        if (pthread_rwlock_rdlock(&p->lock) != 0) ++errors;
        ++p->inside;
        if (pthread_rwlock_unlock(&p->lock) != 0) ++errors;
      }
    });
  }
  for (std::size_t at = 0; at < all.size(); ++at) {
    page* p = all[at];
    offered = at + 1;
    while (p->inside != reader_count) sched_yield();
    if (lock_for_writing(&p->lock) != 0) ++errors;
    if (pthread_rwlock_unlock(&p->lock) != 0) ++errors;
    if (pthread_rwlock_destroy(&p->lock) != 0) ++errors;
    forbid(p);
  }
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(errors, 0);
}

int try_until_locked(pthread_rwlock_t* lock) {
  int result;
  while ((result = pthread_rwlock_trywrlock(lock)) == EBUSY) sched_yield();
  return result;
}

TEST(memory, the_lock_may_be_unmapped_by_the_writer_that_follows_the_last_reader) {
  for (const int kind : {0, 2}) {
    SCOPED_TRACE(kind);
    test::in_a_child([&] { churn_with_readers({kind, false}, 3'000, pthread_rwlock_wrlock); });
    test::in_a_child([&] { churn_with_readers({kind, true}, 300, pthread_rwlock_wrlock); });
  }
}

TEST(memory, the_same_holds_for_a_writer_that_tries) {
  test::in_a_child([] { churn_with_readers({0, false}, 3'000, try_until_locked); });
  test::in_a_child([] { churn_with_readers({0, true}, 300, try_until_locked); });
}

// Every thread counts down under the lock; the one that reaches zero unmaps it, although others may
// only just have released it.
void churn_with_writers(const contract::variant& v, int rounds) {
  constexpr int thread_count = 3;
  pages all(rounds, v);
  for (std::size_t at = 0; at < all.size(); ++at) all[at]->users = thread_count;
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t at = 0; at < all.size(); ++at) {
        page* p = all[at];
        if ((at + static_cast<std::size_t>(i)) % 2 == 0) {
          if (pthread_rwlock_rdlock(&p->lock) != 0) ++errors;
          if (pthread_rwlock_unlock(&p->lock) != 0) ++errors;
        }
        if (pthread_rwlock_wrlock(&p->lock) != 0) ++errors;
        const bool last = --p->users == 0;
        if (pthread_rwlock_unlock(&p->lock) != 0) ++errors;
        if (!last) continue;
        if (pthread_rwlock_destroy(&p->lock) != 0) ++errors;
        forbid(p);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(errors, 0);
}

TEST(memory, the_lock_may_be_unmapped_by_the_last_of_several_writers) {
  for (const int kind : {0, 2}) {
    SCOPED_TRACE(kind);
    test::in_a_child([&] { churn_with_writers({kind, false}, 5'000); });
    test::in_a_child([&] { churn_with_writers({kind, true}, 200); });
  }
}

// A thread whose hold is released by another thread keeps no trace of the lock, though it never
// unlocked it.
TEST(memory, the_lock_may_be_unmapped_after_another_thread_released_the_hold) {
  test::in_a_child([] {
    contract::rwlock elsewhere;
    for (int round = 0; round < 100; ++round) {
      page* p = new_page({0, round % 2 == 0});
      std::atomic<bool> held{false}, gone{false};
      std::thread reader([&] {
        pthread_rwlock_rdlock(&p->lock);
        held = true;
        while (!gone) sched_yield();
        EXPECT_EQ(pthread_rwlock_rdlock(elsewhere), 0);
        EXPECT_EQ(pthread_rwlock_unlock(elsewhere), 0);
      });
      while (!held) sched_yield();
      EXPECT_EQ(pthread_rwlock_unlock(&p->lock), 0);
      EXPECT_EQ(pthread_rwlock_trywrlock(&p->lock), 0);
      EXPECT_EQ(pthread_rwlock_unlock(&p->lock), 0);
      EXPECT_EQ(pthread_rwlock_destroy(&p->lock), 0);
      munmap(p, sizeof *p);
      gone = true;
      reader.join();
      EXPECT_EQ(contract::seen_here(elsewhere), contract::holding::free);
    }
  });
}

// Hot, free locks end without destroy, and their memory is unmapped as well.
TEST(memory, a_hot_lock_may_be_unmapped_without_destroy) {
  test::in_a_child([] {
    contract::rwlock other;
    contract::make_hot(other);
    for (int round = 0; round < 50; ++round) {
      page* p = new_page({0, true});
      munmap(p, sizeof *p);
      EXPECT_EQ(pthread_rwlock_wrlock(other), 0);
      EXPECT_EQ(pthread_rwlock_unlock(other), 0);
    }
  });
}

}  // namespace
