// The locks that the benchmarks compare, under one interface.
#pragma once

#include <pthread.h>

#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

namespace bench {

// The loop around the lock, and nothing else.
class no_lock {
 public:
  void lock() { asm volatile("" ::: "memory"); }
  void unlock() { asm volatile("" ::: "memory"); }
  void lock_shared() { asm volatile("" ::: "memory"); }
  void unlock_shared() { asm volatile("" ::: "memory"); }
};

// glibc's, or the preloaded library's: as the program is started.
class pthread_lock {
 public:
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// Calls register_one.operator()<Lock>(name) for each of them.
template <class Register>
void for_each_lock(Register register_one) {
  register_one.template operator()<no_lock>("empty");
  register_one.template operator()<std::shared_mutex>("std::shared_mutex");
  register_one.template operator()<pthread_lock>("pthread_rwlock");
  register_one.template operator()<readmost::shared_mutex>("readmost::shared_mutex");
}

}  // namespace bench
