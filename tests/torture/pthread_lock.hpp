// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_t with the interface of std::shared_mutex. Whether glibc or the preloaded library
// implements it is decided when the program starts.
#pragma once

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "session.hpp"

namespace torture {

template <int Kind>
class pthread_lock {
 public:
  static constexpr bool prefers_readers = Kind == PTHREAD_RWLOCK_PREFER_READER_NP;
  static constexpr bool recursive_reads = prefers_readers;
  static constexpr bool timed = true;
  static constexpr bool any_thread_unlocks = true;
  static constexpr bool upgrades = false;
  static constexpr bool survives_fork = true;

  pthread_lock() {
    // The default kind remains all zeros and is never initialised, like libstdc++'s shared_mutex.
    if constexpr (Kind != PTHREAD_RWLOCK_PREFER_READER_NP) {
      pthread_rwlockattr_t attributes;
      pthread_rwlockattr_init(&attributes);
      must(pthread_rwlockattr_setkind_np(&attributes, Kind), "pthread_rwlockattr_setkind_np");
      must(pthread_rwlock_init(&lock_, &attributes), "pthread_rwlock_init");
      pthread_rwlockattr_destroy(&attributes);
    }
  }
  pthread_lock(const pthread_lock&) = delete;
  pthread_lock& operator=(const pthread_lock&) = delete;
  ~pthread_lock() { must(pthread_rwlock_destroy(&lock_), "pthread_rwlock_destroy"); }

  void lock() { must(pthread_rwlock_wrlock(&lock_), "pthread_rwlock_wrlock"); }
  void lock_shared() { must(pthread_rwlock_rdlock(&lock_), "pthread_rwlock_rdlock"); }
  void unlock() { must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock"); }
  void unlock_shared() { unlock(); }

  bool try_lock() {
    return granted(pthread_rwlock_trywrlock(&lock_), EBUSY, "pthread_rwlock_trywrlock");
  }
  bool try_lock_shared() {
    return granted(pthread_rwlock_tryrdlock(&lock_), EBUSY, "pthread_rwlock_tryrdlock");
  }

  // The deadline is measured by the wall clock, through pthread_rwlock_timed*.
  bool try_lock_by_wall_clock(std::chrono::nanoseconds wait) {
    const timespec deadline = from_now(CLOCK_REALTIME, wait);
    return granted(pthread_rwlock_timedwrlock(&lock_, &deadline), ETIMEDOUT,
                   "pthread_rwlock_timedwrlock");
  }
  bool try_lock_shared_by_wall_clock(std::chrono::nanoseconds wait) {
    const timespec deadline = from_now(CLOCK_REALTIME, wait);
    return granted(pthread_rwlock_timedrdlock(&lock_, &deadline), ETIMEDOUT,
                   "pthread_rwlock_timedrdlock");
  }

  // The deadline is measured by the steady clock, through pthread_rwlock_clock*.
  bool try_lock_for(std::chrono::nanoseconds wait) {
    const timespec deadline = from_now(CLOCK_MONOTONIC, wait);
    return granted(pthread_rwlock_clockwrlock(&lock_, CLOCK_MONOTONIC, &deadline), ETIMEDOUT,
                   "pthread_rwlock_clockwrlock");
  }
  bool try_lock_shared_for(std::chrono::nanoseconds wait) {
    const timespec deadline = from_now(CLOCK_MONOTONIC, wait);
    return granted(pthread_rwlock_clockrdlock(&lock_, CLOCK_MONOTONIC, &deadline), ETIMEDOUT,
                   "pthread_rwlock_clockrdlock");
  }

 private:
  static timespec from_now(clockid_t clock, std::chrono::nanoseconds wait) {
    constexpr long billion = 1'000'000'000;
    timespec now;
    clock_gettime(clock, &now);
    const long sum = now.tv_nsec + static_cast<long>(wait.count());
    const long carried = sum >= 0 ? sum / billion : -((-sum + billion - 1) / billion);
    return {now.tv_sec + carried, sum - carried * billion};
  }

  static bool granted(int result, int refusal, const char* call) {
    if (result == refusal) return false;
    must(result, call);
    return true;
  }

  // Ends the process on an unexpected result, because the scenario cannot continue.
  static void must(int result, const char* call) {
    if (result == 0) return;
    std::fprintf(stderr, "torture: violation: %s returned %d (%s); it has to succeed here\n", call,
                 result, strerrorname_np(result));
    _exit(exit_status::violated);
  }

  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

}  // namespace torture
