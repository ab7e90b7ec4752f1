// SPDX-License-Identifier: Apache-2.0
// A library with locks of its own that a program loads and unloads at run time.
#include <pthread.h>

#include <cstdlib>
#include <shared_mutex>

namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
std::shared_mutex mutex;
thread_local int reads = 0;

__attribute__((constructor)) void construct() {
  if (pthread_rwlock_wrlock(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0) std::abort();
}
__attribute__((destructor)) void destruct() {
  if (pthread_rwlock_wrlock(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0) std::abort();
}

}  // namespace

extern "C" {
pthread_rwlock_t* plugin_lock() {
  return &lock;
}
pthread_rwlock_t* plugin_mutex() {
  return static_cast<pthread_rwlock_t*>(mutex.native_handle());
}

int plugin_read_much(pthread_rwlock_t* which, int times) {
  for (int i = 0; i < times; ++i) {
    if (pthread_rwlock_rdlock(which) != 0 || pthread_rwlock_unlock(which) != 0) return -1;
    ++reads;
  }
  return reads;
}

int plugin_lock_for_reading(pthread_rwlock_t* which) {
  return pthread_rwlock_rdlock(which);
}
int plugin_unlock(pthread_rwlock_t* which) {
  return pthread_rwlock_unlock(which);
}
}
