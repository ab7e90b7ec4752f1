// SPDX-License-Identifier: Apache-2.0
// The functions behind pthread_rwlock_* of one kind of lock.
#pragma once

#include <pthread.h>

#include <ctime>

namespace readmost::detail::interpose {

struct rwlock_functions {
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

}  // namespace readmost::detail::interpose
