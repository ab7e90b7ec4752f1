// pthread_rwlock_* for a whole program: the contract of POSIX and glibc over
// readmost::detail::rwlock.
//
// A lock lives inside the program's pthread_rwlock_t: see layout.hpp. glibc serves process-shared
// locks, in its own layout. These never look biased, because glibc leaves `core` zero.
#include <pthread.h>

#include <cerrno>
#include <readmost/detail/lock/read_lock.hpp>

#include "interpose/glibc_rwlock.hpp"
#include "interpose/layout.hpp"
#include "interpose/settings.hpp"
#include "lock/posix_results.hpp"
#include "statistics/lock_statistics.hpp"

#define READMOST_EXPORT extern "C" __attribute__((visibility("default")))

namespace readmost::detail::interpose {

namespace {

bool is_shared(const layout& l) noexcept {
  return l.shared != 0;
}

rules rules_of(const layout& l) noexcept {
  const bool prefers_writers = l.kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  rules how;
  how.check_mapping = true;
  how.recursive = !prefers_writers;
  switch (current_settings().prefers) {
    case prefer_choice::by_kind:
      how.prefers = prefers_writers ? preference::writer : preference::reader;
      break;
    case prefer_choice::reader:
      how.prefers = preference::reader;
      break;
    case prefer_choice::writer:
      how.prefers = preference::writer;
      break;
    case prefer_choice::phase_fair:
      how.prefers = preference::phase_fair;
      break;
  }
  return how;
}

enum class form { blocking, trying };

rules rules_of(const layout& l, form f, const platform::deadline* until) noexcept {
  rules how = rules_of(l);
  how.try_only = f == form::trying;
  how.until = until;
  return how;
}

int read_lock_slow(layout& l, form f, const platform::deadline* until) noexcept {
  if (is_mine(l)) return f == form::trying ? EBUSY : EDEADLK;
  return as_errno(lock_shared_slow(l.core, rules_of(l, f, until)));
}

int write_lock(layout& l, form f, const platform::deadline* until) noexcept {
  if (is_mine(l)) return f == form::trying ? EBUSY : EDEADLK;
  const outcome o = lock_exclusive(l.core, rules_of(l, f, until));
  if (o == outcome::acquired) l.owner.store(owner_token(), platform::relaxed);
  return as_errno(o);
}

// Both are out of line, as read_lock.hpp says.
[[gnu::noinline]] int read_lock_after_all(pthread_rwlock_t* lock, form f,
                                          passive_attempt attempt) noexcept {
  layout& l = of(lock);
  bool again = attempt == passive_attempt::published;  // the active path has not been tried since
  if (!again && take_slot_if_free(my_record(), address(l.core))) {
    attempt = lock_shared_passively(l.core, my_record());
    if (attempt == passive_attempt::acquired) return 0;
    again = true;
  }
  const auto how = [&] { return rules_of(l); };
  if (again && lock_shared_after(attempt, l.core, my_record(), default_domain, how)) return 0;
  if (is_shared(l)) {
    return f == form::trying ? glibc().tryrdlock(lock) : glibc().rdlock(lock);
  }
  return read_lock_slow(l, f, nullptr);
}

[[gnu::noinline]] int read_lock_otherwise(pthread_rwlock_t* lock, form f,
                                          passive_attempt attempt) noexcept {
  layout& l = of(lock);
  const auto how = [&] { return rules_of(l); };
  if (attempt == passive_attempt::unavailable &&
      try_lock_shared_active(l.core, my_record(), default_domain, how)) [[likely]] {
    return 0;
  }
  return read_lock_after_all(lock, f, attempt);
}

[[gnu::noinline]] int unlock_otherwise(pthread_rwlock_t* lock) noexcept {
  layout& l = of(lock);
  if (is_mine(l) && !is_shared(l)) {
    l.owner.store(0, platform::relaxed);
    unlock_exclusive(l.core, rules_of(l));
    return 0;
  }
  if (try_unlock_shared_active(l.core, my_record())) return 0;
  if (is_shared(l)) [[unlikely]]
    return glibc().unlock(lock);
  unlock_shared_slow(l.core);
  return 0;
}

int clock_rdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) noexcept {
  layout& l = of(lock);
  if (try_lock_shared_passive(l.core, my_record())) [[likely]]
    return 0;
  const platform::deadline until{clock, *at};
  return read_lock_slow(l, form::blocking, &until);
}

int clock_wrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) noexcept {
  const platform::deadline until{clock, *at};
  return write_lock(of(lock), form::blocking, &until);
}

}  // namespace

}  // namespace readmost::detail::interpose

using namespace readmost;
using namespace readmost::detail;
using namespace readmost::detail::interpose;

READMOST_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
  // Decided before the memory, which may belong to glibc's lock, is written.
  const attributes asked = attributes_of(attr);
  if (asked.shared != PTHREAD_PROCESS_PRIVATE) return glibc().init(lock, attr);
  make_free(lock, asked);
  return 0;
}

READMOST_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  if (is_shared(l)) return glibc().destroy(lock);
  forget_holds_before_reuse(l.core);
  return 0;
}

READMOST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  const passive_attempt attempt = lock_shared_passively(of(lock).core, my_record());
  if (attempt == passive_attempt::acquired) [[likely]] {
    return 0;
  }
  return read_lock_otherwise(lock, form::blocking, attempt);
}

READMOST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  const passive_attempt attempt = lock_shared_passively(of(lock).core, my_record());
  if (attempt == passive_attempt::acquired) [[likely]] {
    return 0;
  }
  return read_lock_otherwise(lock, form::trying, attempt);
}

READMOST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  if (is_shared(of(lock))) return glibc().timedrdlock(lock, at);
  if (!is_valid(CLOCK_REALTIME, at)) return EINVAL;
  return clock_rdlock(lock, CLOCK_REALTIME, at);
}

READMOST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  if (is_shared(of(lock))) return glibc().clockrdlock(lock, clock, at);
  if (!is_valid(clock, at)) return EINVAL;
  return clock_rdlock(lock, clock, at);
}

READMOST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  if (is_shared(l)) [[unlikely]]
    return glibc().wrlock(lock);
  return write_lock(l, form::blocking, nullptr);
}

READMOST_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  if (is_shared(l)) return glibc().trywrlock(lock);
  return write_lock(l, form::trying, nullptr);
}

READMOST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  if (is_shared(of(lock))) return glibc().timedwrlock(lock, at);
  if (!is_valid(CLOCK_REALTIME, at)) return EINVAL;
  return clock_wrlock(lock, CLOCK_REALTIME, at);
}

READMOST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  if (is_shared(of(lock))) return glibc().clockwrlock(lock, clock, at);
  if (!is_valid(clock, at)) return EINVAL;
  return clock_wrlock(lock, clock, at);
}

READMOST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  if (try_unlock_shared_passive(of(lock).core, my_record(), default_domain)) [[likely]] {
    return 0;
  }
  return unlock_otherwise(lock);
}

// Names that libraries linked against an older glibc call.
#define READMOST_ALIAS(name) \
  READMOST_EXPORT __attribute__((alias(#name), nothrow, nonnull(1))) int __##name

READMOST_ALIAS(pthread_rwlock_init)(pthread_rwlock_t*, const pthread_rwlockattr_t*);
READMOST_ALIAS(pthread_rwlock_destroy)(pthread_rwlock_t*);
READMOST_ALIAS(pthread_rwlock_rdlock)(pthread_rwlock_t*);
READMOST_ALIAS(pthread_rwlock_tryrdlock)(pthread_rwlock_t*);
READMOST_ALIAS(pthread_rwlock_wrlock)(pthread_rwlock_t*);
READMOST_ALIAS(pthread_rwlock_trywrlock)(pthread_rwlock_t*);
READMOST_ALIAS(pthread_rwlock_unlock)(pthread_rwlock_t*);
