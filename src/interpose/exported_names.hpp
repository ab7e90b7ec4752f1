// SPDX-License-Identifier: Apache-2.0
// How a preloaded library exports the functions that it replaces.
#pragma once

#include <pthread.h>

#define READMOST_EXPORT extern "C" __attribute__((visibility("default")))

// Names that libraries linked against an older glibc call, for a file that defines the functions.
#define READMOST_ALIAS(name) \
  READMOST_EXPORT __attribute__((alias(#name), nothrow, nonnull(1))) int __##name
#define READMOST_OLDER_NAMES                                                           \
  READMOST_ALIAS(pthread_rwlock_init)(pthread_rwlock_t*, const pthread_rwlockattr_t*); \
  READMOST_ALIAS(pthread_rwlock_destroy)(pthread_rwlock_t*);                           \
  READMOST_ALIAS(pthread_rwlock_rdlock)(pthread_rwlock_t*);                            \
  READMOST_ALIAS(pthread_rwlock_tryrdlock)(pthread_rwlock_t*);                         \
  READMOST_ALIAS(pthread_rwlock_wrlock)(pthread_rwlock_t*);                            \
  READMOST_ALIAS(pthread_rwlock_trywrlock)(pthread_rwlock_t*);                         \
  READMOST_ALIAS(pthread_rwlock_unlock)(pthread_rwlock_t*);
