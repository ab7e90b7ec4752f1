// SPDX-License-Identifier: Apache-2.0
// Locks whose memory is put to another use after another thread has released the last hold, and
// without a call of pthread_rwlock_destroy(), which glibc does not need.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;
using test::in_a_child;

// A lock in pages of its own, which can be unmapped.
class mapped_lock {
 public:
  mapped_lock()
      : lock_(static_cast<pthread_rwlock_t*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (lock_ == MAP_FAILED) std::abort();
  }
  mapped_lock(const mapped_lock&) = delete;
  mapped_lock& operator=(const mapped_lock&) = delete;
  ~mapped_lock() { unmap(); }

  operator pthread_rwlock_t*() { return lock_; }
  void unmap() { munmap(lock_, size); }

 private:
  static constexpr std::size_t size = 4096;
  pthread_rwlock_t* lock_;
};

// The owner takes a hold, which another thread releases.
void hand_over(helper_thread& owner, pthread_rwlock_t* lock, const contract::variant& v) {
  contract::prepare(lock, v);
  ASSERT_EQ(owner.call([&] { return pthread_rwlock_rdlock(lock); }), 0);
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
}

TEST(stale_holds, of_memory_that_is_unmapped_do_not_disturb_the_owners_exit) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    in_a_child([&] {
      mapped_lock lock;
      helper_thread owner;
      hand_over(owner, lock, v);
      lock.unmap();
    });
  }
}

TEST(stale_holds, of_memory_that_is_reused_leave_it_alone_at_the_owners_exit) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    mapped_lock lock;
    std::vector<unsigned char> expected;
    {
      helper_thread owner;
      hand_over(owner, lock, v);
      auto* bytes = reinterpret_cast<unsigned char*>(static_cast<pthread_rwlock_t*>(lock));
      std::memset(bytes, 0x5A, sizeof(pthread_rwlock_t));
      expected.assign(bytes, bytes + sizeof(pthread_rwlock_t));
    }
    EXPECT_EQ(std::memcmp(static_cast<pthread_rwlock_t*>(lock), expected.data(), expected.size()),
              0);
  }
}

TEST(stale_holds, of_memory_that_is_unmapped_do_not_disturb_a_child) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    // In a child of its own, because the owner's exit is another matter.
    in_a_child([&] {
      auto* lock = new mapped_lock;
      auto* owner = new helper_thread;
      hand_over(*owner, *lock, v);
      lock->unmap();
      in_a_child([] {
        contract::rwlock another;
        contract::make_hot(another);
        EXPECT_EQ(seen_elsewhere(another), holding::free);
      });
    });
  }
}

TEST(stale_holds, of_memory_that_is_reused_leave_it_alone_in_a_child) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    SCOPED_TRACE(v);
    in_a_child([&] {
      auto* lock = new mapped_lock;
      auto* owner = new helper_thread;
      hand_over(*owner, *lock, v);
      std::memset(static_cast<void*>(static_cast<pthread_rwlock_t*>(*lock)), 0x5A,
                  sizeof(pthread_rwlock_t));
      in_a_child([&] {
        const std::vector<unsigned char> expected(sizeof(pthread_rwlock_t), 0x5A);
        EXPECT_EQ(
            std::memcmp(static_cast<pthread_rwlock_t*>(*lock), expected.data(), expected.size()),
            0);
      });
    });
  }
}

// The hold is that of a lock that no longer exists.
TEST(stale_holds, of_a_lock_that_is_initialised_again_do_not_keep_writers_out) {
  for (const bool released : {true, false}) {
    for (const auto& v : contract::variants({0, 1, 2})) {
      SCOPED_TRACE(v);
      SCOPED_TRACE(released ? "released by another thread" : "held");
      mapped_lock lock;
      helper_thread owner;
      contract::prepare(lock, v);
      ASSERT_EQ(owner.call([&] { return pthread_rwlock_rdlock(lock); }), 0);
      if (released) {
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      }
      contract::prepare(lock, v);
      const timespec soon = contract::in(CLOCK_MONOTONIC, std::chrono::milliseconds(500));
      const int result = pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon);
      EXPECT_EQ(result, 0);
      if (result == 0) pthread_rwlock_unlock(lock);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
      pthread_rwlock_destroy(lock);
    }
  }
}

}  // namespace
