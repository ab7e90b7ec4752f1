// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_* for a whole program, over the lock that READMOST_LOCK names.
//
// Each function is one jump through a table, so that measurements of a lock include nothing else.
#include <pthread.h>

#include "interpose/exported_names.hpp"
#include "interpose/settings.hpp"
#include "lab/lock_memory.hpp"
#include "lab/made_locks.hpp"
#include "lab/other_locks.hpp"

namespace readmost::detail::lab {

using interpose::rwlock_functions;

namespace {

void choose() noexcept;
extern rwlock_functions chosen;

// What the table holds until the first call, which may come before any constructor has run.
template <auto Function>
struct first_call;
template <class... Arguments, int (*rwlock_functions::*Function)(Arguments...)>
struct first_call<Function> {
  static int call(Arguments... arguments) {
    choose();
    return (chosen.*Function)(arguments...);
  }
};

template <auto... Functions>
constexpr rwlock_functions all_first_calls{first_call<Functions>::call...};
using all = rwlock_functions;

// Not atomic: a jump through an atomic pointer takes two instructions. It is written before the
// program can have a second thread.
constinit rwlock_functions chosen =
    all_first_calls<&all::init, &all::destroy, &all::rdlock, &all::tryrdlock, &all::timedrdlock,
                    &all::clockrdlock, &all::wrlock, &all::trywrlock, &all::timedwrlock,
                    &all::clockwrlock, &all::unlock>;

void choose() noexcept {
  chosen = functions_of(interpose::current_settings().lock);
}

__attribute__((constructor)) void prepare() noexcept {
  watch_forks_of_made_locks();
  watch_forks_of_lock_memory();
  choose();
}

}  // namespace

}  // namespace readmost::detail::lab

using readmost::detail::lab::chosen;

READMOST_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
  return chosen.init(lock, attr);
}

READMOST_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  return chosen.destroy(lock);
}

READMOST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return chosen.rdlock(lock);
}

READMOST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  return chosen.tryrdlock(lock);
}

READMOST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  return chosen.timedrdlock(lock, at);
}

READMOST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  return chosen.clockrdlock(lock, clock, at);
}

READMOST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return chosen.wrlock(lock);
}

READMOST_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  return chosen.trywrlock(lock);
}

READMOST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  return chosen.timedwrlock(lock, at);
}

READMOST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  return chosen.clockwrlock(lock, clock, at);
}

READMOST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  return chosen.unlock(lock);
}

READMOST_OLDER_NAMES
