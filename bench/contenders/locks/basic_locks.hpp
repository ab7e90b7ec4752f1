// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_t, and no lock at all, with the members of std::shared_mutex.
#pragma once

#include <pthread.h>

namespace bench {

// glibc's lock, or the lock of a preloaded library.
class pthread_lock {
 public:
  pthread_lock() = default;
  // `kind`: PTHREAD_RWLOCK_PREFER_...
  explicit pthread_lock(int kind) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  pthread_lock(const pthread_lock&) = delete;
  pthread_lock& operator=(const pthread_lock&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  bool try_lock() { return pthread_rwlock_trywrlock(&lock_) == 0; }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  bool try_lock_shared() { return pthread_rwlock_tryrdlock(&lock_) == 0; }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// The same of the kind that prefers writers: one that waits keeps readers out.
class writer_preferring_pthread_lock : public pthread_lock {
 public:
  writer_preferring_pthread_lock() : pthread_lock(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) {}
};

// Measures the loop around the lock and nothing else.
class no_lock {
 public:
  void lock() { asm volatile("" ::: "memory"); }
  void unlock() { asm volatile("" ::: "memory"); }
  void lock_shared() { asm volatile("" ::: "memory"); }
  void unlock_shared() { asm volatile("" ::: "memory"); }
};

}  // namespace bench
