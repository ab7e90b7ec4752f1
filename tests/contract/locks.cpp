// SPDX-License-Identifier: Apache-2.0
#include "locks.hpp"

#include <cerrno>
#include <cstdlib>
#include <thread>

namespace contract {

using std::chrono::milliseconds;

void rwlock::init(pthread_rwlock_t* lock, int kind, int shared) {
  pthread_rwlockattr_t attributes;
  if (pthread_rwlockattr_init(&attributes) != 0 ||
      pthread_rwlockattr_setkind_np(&attributes, kind) != 0 ||
      pthread_rwlockattr_setpshared(&attributes, shared) != 0 ||
      pthread_rwlock_init(lock, &attributes) != 0 || pthread_rwlockattr_destroy(&attributes) != 0) {
    std::abort();
  }
}

void make_hot(pthread_rwlock_t* lock) {
  for (int i = 0; i < hot_reads; ++i) {
    if (pthread_rwlock_rdlock(lock) != 0 || pthread_rwlock_unlock(lock) != 0) std::abort();
  }
}

std::ostream& operator<<(std::ostream& out, const variant& v) {
  return out << "kind " << v.kind << (v.hot ? ", hot" : ", cold");
}

std::vector<variant> variants(std::initializer_list<int> kinds) {
  std::vector<variant> all;
  for (const int kind : kinds) {
    all.push_back({kind, false});
    all.push_back({kind, true});
  }
  return all;
}

void prepare(pthread_rwlock_t* lock, const variant& v) {
  rwlock::init(lock, v.kind, PTHREAD_PROCESS_PRIVATE);
  if (v.hot) make_hot(lock);
}

std::ostream& operator<<(std::ostream& out, holding h) {
  switch (h) {
    case holding::free:
      return out << "free";
    case holding::read:
      return out << "held for reading";
    case holding::written:
      return out << "held for writing";
  }
  return out;
}

holding seen_here(pthread_rwlock_t* lock) {
  if (pthread_rwlock_trywrlock(lock) == 0) {
    pthread_rwlock_unlock(lock);
    return holding::free;
  }
  if (pthread_rwlock_tryrdlock(lock) == 0) {
    pthread_rwlock_unlock(lock);
    return holding::read;
  }
  return holding::written;
}

holding seen_elsewhere(pthread_rwlock_t* lock) {
  holding seen{};
  std::thread([&] { seen = seen_here(lock); }).join();
  return seen;
}

std::span<const timed_operation> timed_operations() {
  static constexpr timed_operation all[]{
      {"timedrdlock", false, CLOCK_REALTIME,
       [](pthread_rwlock_t* l, const timespec* t) { return pthread_rwlock_timedrdlock(l, t); }},
      {"clockrdlock on CLOCK_REALTIME", false, CLOCK_REALTIME,
       [](pthread_rwlock_t* l, const timespec* t) {
         return pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, t);
       }},
      {"clockrdlock on CLOCK_MONOTONIC", false, CLOCK_MONOTONIC,
       [](pthread_rwlock_t* l, const timespec* t) {
         return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, t);
       }},
      {"timedwrlock", true, CLOCK_REALTIME,
       [](pthread_rwlock_t* l, const timespec* t) { return pthread_rwlock_timedwrlock(l, t); }},
      {"clockwrlock on CLOCK_REALTIME", true, CLOCK_REALTIME,
       [](pthread_rwlock_t* l, const timespec* t) {
         return pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, t);
       }},
      {"clockwrlock on CLOCK_MONOTONIC", true, CLOCK_MONOTONIC,
       [](pthread_rwlock_t* l, const timespec* t) {
         return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, t);
       }},
  };
  return all;
}

std::span<const untimed_operation> untimed_operations() {
  static constexpr untimed_operation all[]{
      {"rdlock", false, false, [](pthread_rwlock_t* l) { return pthread_rwlock_rdlock(l); }},
      {"tryrdlock", false, true, [](pthread_rwlock_t* l) { return pthread_rwlock_tryrdlock(l); }},
      {"wrlock", true, false, [](pthread_rwlock_t* l) { return pthread_rwlock_wrlock(l); }},
      {"trywrlock", true, true, [](pthread_rwlock_t* l) { return pthread_rwlock_trywrlock(l); }},
  };
  return all;
}

timespec in(clockid_t clock, milliseconds time) {
  timespec t{};
  clock_gettime(clock, &t);
  t.tv_sec += time.count() / 1000;
  t.tv_nsec += time.count() % 1000 * 1'000'000;
  if (t.tv_nsec >= 1'000'000'000) {
    t.tv_nsec -= 1'000'000'000;
    ++t.tv_sec;
  }
  return t;
}

bool reached(clockid_t clock, const timespec& deadline) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec != deadline.tv_sec ? now.tv_sec > deadline.tv_sec
                                       : now.tv_nsec >= deadline.tv_nsec;
}

int call_for(const timed_operation& operation, pthread_rwlock_t* lock, milliseconds time) {
  const timespec deadline = in(operation.clock, time);
  return operation.call(lock, &deadline);
}

}  // namespace contract
