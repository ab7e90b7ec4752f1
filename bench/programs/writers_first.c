// SPDX-License-Identifier: Apache-2.0
/* Preloaded, lets glibc's reader-writer locks that a program initialises by a call prefer writers.
   Their functions stay glibc's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

typedef int init_function(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes);

int pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  init_function* const init = (init_function*)dlsym(RTLD_NEXT, "pthread_rwlock_init");
  pthread_rwlockattr_t preferring;
  int shared = PTHREAD_PROCESS_PRIVATE;

  if (!init) return ENOSYS;
  pthread_rwlockattr_init(&preferring);
  if (attributes) pthread_rwlockattr_getpshared(attributes, &shared);
  pthread_rwlockattr_setpshared(&preferring, shared);
  pthread_rwlockattr_setkind_np(&preferring, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  return init(lock, &preferring);
}
