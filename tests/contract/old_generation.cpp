// SPDX-License-Identifier: Apache-2.0
#include "old_generation.hpp"

#include <stdio.h>
#include <stdlib.h>

// Binds each name to the version that linkers chose before glibc 2.34 (clock*: since 2.30).
#define BIND(alias, name, version)              \
  extern "C" int alias(pthread_rwlock_t*, ...); \
  __asm__(".symver " #alias ", " #name "@" version);

BIND(bound_init, pthread_rwlock_init, OLDEST_GLIBC)
BIND(bound_destroy, pthread_rwlock_destroy, OLDEST_GLIBC)
BIND(bound_rdlock, pthread_rwlock_rdlock, OLDEST_GLIBC)
BIND(bound_tryrdlock, pthread_rwlock_tryrdlock, OLDEST_GLIBC)
BIND(bound_timedrdlock, pthread_rwlock_timedrdlock, OLDEST_GLIBC)
BIND(bound_wrlock, pthread_rwlock_wrlock, OLDEST_GLIBC)
BIND(bound_trywrlock, pthread_rwlock_trywrlock, OLDEST_GLIBC)
BIND(bound_timedwrlock, pthread_rwlock_timedwrlock, OLDEST_GLIBC)
BIND(bound_unlock, pthread_rwlock_unlock, OLDEST_GLIBC)
BIND(bound_clockrdlock, pthread_rwlock_clockrdlock, "GLIBC_2.30")
BIND(bound_clockwrlock, pthread_rwlock_clockwrlock, "GLIBC_2.30")
BIND(bound_internal_init, __pthread_rwlock_init, OLDEST_GLIBC)
BIND(bound_internal_destroy, __pthread_rwlock_destroy, OLDEST_GLIBC)
BIND(bound_internal_rdlock, __pthread_rwlock_rdlock, OLDEST_GLIBC)
BIND(bound_internal_tryrdlock, __pthread_rwlock_tryrdlock, OLDEST_GLIBC)
BIND(bound_internal_wrlock, __pthread_rwlock_wrlock, OLDEST_GLIBC)
BIND(bound_internal_trywrlock, __pthread_rwlock_trywrlock, OLDEST_GLIBC)
BIND(bound_internal_unlock, __pthread_rwlock_unlock, OLDEST_GLIBC)

extern "C" {
int old_rdlock(pthread_rwlock_t* lock) {
  return bound_rdlock(lock);
}
int old_tryrdlock(pthread_rwlock_t* lock) {
  return bound_tryrdlock(lock);
}
int old_wrlock(pthread_rwlock_t* lock) {
  return bound_wrlock(lock);
}
int old_trywrlock(pthread_rwlock_t* lock) {
  return bound_trywrlock(lock);
}
int old_unlock(pthread_rwlock_t* lock) {
  return bound_unlock(lock);
}
int old_internal_rdlock(pthread_rwlock_t* lock) {
  return bound_internal_rdlock(lock);
}
int old_internal_tryrdlock(pthread_rwlock_t* lock) {
  return bound_internal_tryrdlock(lock);
}
int old_internal_wrlock(pthread_rwlock_t* lock) {
  return bound_internal_wrlock(lock);
}
int old_internal_trywrlock(pthread_rwlock_t* lock) {
  return bound_internal_trywrlock(lock);
}
int old_internal_unlock(pthread_rwlock_t* lock) {
  return bound_internal_unlock(lock);
}
int old_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  return bound_init(lock, attributes);
}
int old_destroy(pthread_rwlock_t* lock) {
  return bound_destroy(lock);
}
}

namespace {

// Used after the program's own destructors and after those of a library preloaded before this one.
pthread_rwlock_t late_lock = PTHREAD_RWLOCK_INITIALIZER;

void use_late_lock(const char* when) {
  for (int i = 0; i < 10'000; ++i) {
    if (pthread_rwlock_rdlock(&late_lock) != 0 || pthread_rwlock_unlock(&late_lock) != 0) abort();
  }
  if (pthread_rwlock_wrlock(&late_lock) != 0 || pthread_rwlock_unlock(&late_lock) != 0) abort();
  if (getenv("CONTRACT_REPORT_LATE") != nullptr) {
    printf("%s\n", when);
    fflush(stdout);
  }
}

__attribute__((constructor)) void construct() {
  use_late_lock("constructor of a library");
}
__attribute__((destructor)) void destruct() {
  use_late_lock("destructor of a library");
}

}  // namespace

namespace contract {

std::vector<old_function> old_generation_functions() {
  return {
      {"pthread_rwlock_init", reinterpret_cast<void*>(&bound_init)},
      {"pthread_rwlock_destroy", reinterpret_cast<void*>(&bound_destroy)},
      {"pthread_rwlock_rdlock", reinterpret_cast<void*>(&bound_rdlock)},
      {"pthread_rwlock_tryrdlock", reinterpret_cast<void*>(&bound_tryrdlock)},
      {"pthread_rwlock_timedrdlock", reinterpret_cast<void*>(&bound_timedrdlock)},
      {"pthread_rwlock_wrlock", reinterpret_cast<void*>(&bound_wrlock)},
      {"pthread_rwlock_trywrlock", reinterpret_cast<void*>(&bound_trywrlock)},
      {"pthread_rwlock_timedwrlock", reinterpret_cast<void*>(&bound_timedwrlock)},
      {"pthread_rwlock_unlock", reinterpret_cast<void*>(&bound_unlock)},
      {"pthread_rwlock_clockrdlock", reinterpret_cast<void*>(&bound_clockrdlock)},
      {"pthread_rwlock_clockwrlock", reinterpret_cast<void*>(&bound_clockwrlock)},
      {"__pthread_rwlock_init", reinterpret_cast<void*>(&bound_internal_init)},
      {"__pthread_rwlock_destroy", reinterpret_cast<void*>(&bound_internal_destroy)},
      {"__pthread_rwlock_rdlock", reinterpret_cast<void*>(&bound_internal_rdlock)},
      {"__pthread_rwlock_tryrdlock", reinterpret_cast<void*>(&bound_internal_tryrdlock)},
      {"__pthread_rwlock_wrlock", reinterpret_cast<void*>(&bound_internal_wrlock)},
      {"__pthread_rwlock_trywrlock", reinterpret_cast<void*>(&bound_internal_trywrlock)},
      {"__pthread_rwlock_unlock", reinterpret_cast<void*>(&bound_internal_unlock)},
  };
}

}  // namespace contract
