// SPDX-License-Identifier: Apache-2.0
/* Preloaded, leaves a program without any reader-writer lock: a program that checks its values has
   to notice. */
#include <pthread.h>

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  (void)lock;
  return 0;
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  (void)lock;
  return 0;
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  (void)lock;
  return 0;
}
