// glibc's own functions, for the locks that are left to it.
#pragma once

#include <pthread.h>

#include <ctime>

namespace readmost::interpose {

struct glibc_functions {
  int (*init)(pthread_rwlock_t*, const pthread_rwlockattr_t*);
  int (*destroy)(pthread_rwlock_t*);
  int (*rdlock)(pthread_rwlock_t*);
  int (*tryrdlock)(pthread_rwlock_t*);
  int (*timedrdlock)(pthread_rwlock_t*, const timespec*);
  int (*clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*wrlock)(pthread_rwlock_t*);
  int (*trywrlock)(pthread_rwlock_t*);
  int (*timedwrlock)(pthread_rwlock_t*, const timespec*);
  int (*clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*unlock)(pthread_rwlock_t*);
};

// Looked up at the first call. Any of them may be null in a libc that lacks it.
const glibc_functions& glibc() noexcept;

}  // namespace readmost::interpose
