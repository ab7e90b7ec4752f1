// SPDX-License-Identifier: Apache-2.0
/* Fails unless the package's library is preloaded and its lock works. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int main(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  if (dlsym(RTLD_DEFAULT, "readmost_introspection") == NULL) {
    fputs("pthread_program: libreadmost-pthread.so is not preloaded\n", stderr);
    return 1;
  }
  return pthread_rwlock_rdlock(&lock) || pthread_rwlock_unlock(&lock) ||
         pthread_rwlock_wrlock(&lock) || pthread_rwlock_unlock(&lock);
}
