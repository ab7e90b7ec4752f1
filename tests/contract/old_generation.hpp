// SPDX-License-Identifier: Apache-2.0
// The functions as a binary linked before glibc 2.34 sees them: bound to the symbol versions of
// that time. They live in a shared library, because symbol versions belong to a binary.
#pragma once

#include <pthread.h>

#include <vector>

// The first glibc version on this machine that had the functions.
#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#else
#define OLDEST_GLIBC "GLIBC_2.17"
#endif

namespace contract {

extern "C" {
int old_init(pthread_rwlock_t*, const pthread_rwlockattr_t*);
int old_destroy(pthread_rwlock_t*);
int old_rdlock(pthread_rwlock_t*);
int old_tryrdlock(pthread_rwlock_t*);
int old_wrlock(pthread_rwlock_t*);
int old_trywrlock(pthread_rwlock_t*);
int old_unlock(pthread_rwlock_t*);
int old_internal_rdlock(pthread_rwlock_t*);
int old_internal_tryrdlock(pthread_rwlock_t*);
int old_internal_wrlock(pthread_rwlock_t*);
int old_internal_trywrlock(pthread_rwlock_t*);
int old_internal_unlock(pthread_rwlock_t*);
}

struct old_function {
  const char* name;
  const void* address;
};

// Every old name with the address it is bound to.
std::vector<old_function> old_generation_functions();

}  // namespace contract
