// SPDX-License-Identifier: Apache-2.0
// Preloaded instead of the library: a lock that lets a writer in while others hold it.
// every_way_program.cpp has to detect this.
#include <pthread.h>

extern "C" {
__attribute__((visibility("default"))) int pthread_rwlock_wrlock(pthread_rwlock_t*) {
  return 0;
}
__attribute__((visibility("default"))) int pthread_rwlock_trywrlock(pthread_rwlock_t*) {
  return 0;
}
__attribute__((visibility("default"))) int pthread_rwlock_unlock(pthread_rwlock_t*) {
  return 0;
}
}
