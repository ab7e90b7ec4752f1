// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_* for a whole program: the contract of POSIX and glibc over
// readmost::detail::rwlock.
//
// A lock lives inside the program's pthread_rwlock_t: see layout.hpp. glibc, or musl, serves
// process-shared locks, in its own layout. Their `core` stays zero, so no fast path serves them.
#include <pthread.h>

#include <cerrno>
#include <readmost/detail/lock/read_lock.hpp>

#include "interpose/exported_names.hpp"
#include "interpose/glibc_rwlock.hpp"
#include "interpose/layout.hpp"
#include "interpose/settings.hpp"
#include "lock/observation.hpp"
#include "lock/posix_results.hpp"

namespace readmost::detail::interpose {

namespace {

bool is_shared(const layout& l) noexcept {
  return l.shared != 0;
}

// Whether a lock of the program notes holds, which takes READMOST_PREFER. From then on fast paths
// find out whether a lock does, and guess before that that none does.
constinit platform::atomic<bool> some_note{false};

bool may_note() noexcept {
  return some_note.load(platform::relaxed);
}

bool notes_holds(const layout& l) noexcept {
  return readmost::detail::notes_holds(l.core.state.load(platform::relaxed));
}

rules rules_of(const layout& l) noexcept {
  const bool writers_first = prefers_writers(l);
  rules how;
  how.check_mapping = true;
  how.recursive = !writers_first;
  switch (current_settings().prefers) {
    case prefer_choice::by_kind:
      how.prefers = writers_first ? preference::writer : preference::reader;
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
  how.noted = how.recursive && how.prefers != preference::reader;
  if (how.noted && !may_note()) some_note.store(true, platform::relaxed);
  return how;
}

#if defined(__GLIBC__)
int clock_rdlock_of_c_library(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return pass_on<&rwlock_functions::clockrdlock>::call(lock, clock, at);
}
int clock_wrlock_of_c_library(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return pass_on<&rwlock_functions::clockwrlock>::call(lock, clock, at);
}
#else
// musl waits by CLOCK_REALTIME alone, and so does this library there.
int clock_rdlock_of_c_library(pthread_rwlock_t* lock, clockid_t, const timespec* at) {
  return pass_on<&rwlock_functions::timedrdlock>::call(lock, at);
}
int clock_wrlock_of_c_library(pthread_rwlock_t* lock, clockid_t, const timespec* at) {
  return pass_on<&rwlock_functions::timedwrlock>::call(lock, at);
}
#endif

enum class form { blocking, trying };

rules rules_of(const layout& l, form f, const platform::deadline* until) noexcept {
  rules how = rules_of(l);
  how.try_only = f == form::trying;
  how.until = until;
  return how;
}

int refuse_to_wait_for_oneself(const layout& l, form f, hold_kind kind) noexcept {
  if (f == form::trying) return EBUSY;
  if (is_observed()) observe_vain_wait(l.core, kind);
  return EDEADLK;
}

// What follows is out of line, and ends in calls that need no stack frame, as read_lock.hpp says.
// Only the last step of each operation has to look for process-shared locks.
[[gnu::noinline]] int read_lock_slow(pthread_rwlock_t* lock, form f,
                                     const platform::deadline* until,
                                     passive_attempt attempt) noexcept {
  layout& l = of(lock);
  if (lock_shared_after(attempt, l.core, my_record(), [&] { return rules_of(l); })) return 0;
  if (is_mine(l)) return refuse_to_wait_for_oneself(l, f, hold_kind::read);
  return as_errno(lock_shared_slow(l.core, rules_of(l, f, until)));
}

[[gnu::noinline]] int read_lock_on_slow_path(pthread_rwlock_t* lock, form f) noexcept {
  if (lock_shared_nested(of(lock).core, my_record())) return 0;
  return read_lock_slow(lock, f, nullptr, passive_attempt::unavailable);
}

[[gnu::noinline]] int settle_account(layout& l) noexcept {
  update_account(l.core, rules_of(l));
  return 0;
}

template <bool Noted, class Otherwise>
[[gnu::always_inline]] inline int read_lock_actively(layout& l, Otherwise otherwise) noexcept {
  return readmost::detail::read_lock_actively<Noted>(
      l.core, my_record(), [&] { return settle_account(l); }, otherwise);
}

[[gnu::noinline]] int read_lock_with_note(pthread_rwlock_t* lock, form f) noexcept {
  return read_lock_actively<true>(
      of(lock), [&] { return read_lock_slow(lock, f, nullptr, passive_attempt::unavailable); });
}

[[gnu::noinline]] int read_lock_at_last(pthread_rwlock_t* lock, form f,
                                        passive_attempt attempt) noexcept {
  if (is_shared(of(lock))) {
    return f == form::trying ? pass_on<&rwlock_functions::tryrdlock>::call(lock)
                             : pass_on<&rwlock_functions::rdlock>::call(lock);
  }
  if (attempt == passive_attempt::unavailable) {
    if (is_biased_on_slow_path(of(lock).core)) return read_lock_on_slow_path(lock, f);
    if (may_note()) return read_lock_with_note(lock, f);
  }
  return read_lock_slow(lock, f, nullptr, attempt);
}

// Of the locks that are not biased most note no holds; the others take the last step.
[[gnu::noinline]] int read_lock_without_note(pthread_rwlock_t* lock, form f) noexcept {
  return read_lock_actively<false>(
      of(lock), [&] { return read_lock_at_last(lock, f, passive_attempt::unavailable); });
}

[[gnu::always_inline]] inline int read_lock(pthread_rwlock_t* lock, form f) noexcept {
  rwlock& core = of(lock).core;
  if (!is_biased(core)) return read_lock_without_note(lock, f);
  const passive_attempt attempt = lock_shared_passively(core, my_record());
  if (attempt == passive_attempt::acquired) [[likely]] {
    return 0;
  }
  return read_lock_at_last(lock, f, attempt);
}

[[gnu::noinline]] int record_write(layout& l) noexcept {
  readmost::detail::record_write(l.core);
  return 0;
}

// `state`: as for lock_exclusive_fast().
template <class Otherwise>
[[gnu::always_inline]] inline int write_lock(layout& l, std::uint64_t state,
                                             Otherwise otherwise) noexcept {
  const write_attempt attempt = lock_exclusive_fast(l.core, my_record(), state);
  if (attempt == write_attempt::unavailable) return otherwise();
  l.owner.store(owner_token(), platform::relaxed);
  return attempt == write_attempt::acquired ? 0 : record_write(l);
}

int write_lock_slow(layout& l, form f, const platform::deadline* until) noexcept {
  if (is_mine(l)) return refuse_to_wait_for_oneself(l, f, hold_kind::write);
  const outcome o = lock_exclusive_slow(l.core, rules_of(l, f, until));
  if (o == outcome::acquired) l.owner.store(owner_token(), platform::relaxed);
  return as_errno(o);
}

[[gnu::noinline]] int write_lock_at_last(pthread_rwlock_t* lock, form f) noexcept {
  if (is_shared(of(lock))) {
    return f == form::trying ? pass_on<&rwlock_functions::trywrlock>::call(lock)
                             : pass_on<&rwlock_functions::wrlock>::call(lock);
  }
  return write_lock_slow(of(lock), f, nullptr);
}

[[gnu::noinline]] int write_unlock_slow(layout& l) noexcept {
  unlock_exclusive_slow(l.core, rules_of(l));
  return 0;
}

template <bool Noted>
[[gnu::always_inline]] inline int write_unlock(layout& l) noexcept {
  l.owner.store(0, platform::relaxed);
  return try_unlock_exclusive_fast<Noted>(l.core) ? 0 : write_unlock_slow(l);
}

[[gnu::noinline]] int read_unlock_slow(pthread_rwlock_t* lock) noexcept {
  layout& l = of(lock);
  if (is_shared(l)) return pass_on<&rwlock_functions::unlock>::call(lock);
  unlock_shared_slow(l.core);
  return 0;
}

[[gnu::noinline]] int write_unlock_by_state(layout& l) noexcept {
  return notes_holds(l) ? write_unlock<true>(l) : write_unlock<false>(l);
}

[[gnu::noinline]] int read_unlock_by_state(pthread_rwlock_t* lock) noexcept {
  layout& l = of(lock);
  const bool released = notes_holds(l) ? try_unlock_shared_active<true>(l.core, my_record())
                                       : try_unlock_shared_active<false>(l.core, my_record());
  return released ? 0 : read_unlock_slow(lock);
}

[[gnu::noinline]] int unlock_otherwise(pthread_rwlock_t* lock) noexcept {
  layout& l = of(lock);
  // While a process-shared lock is held, these are the C library's counts of readers and of waiting
  // writers: not zero, and not so many writers that they could be a thread's address.
  const std::uintptr_t owner = l.owner.load(platform::relaxed);
  if (owner == 0) {
    if (may_note()) [[unlikely]]
      return read_unlock_by_state(lock);
    if (try_unlock_shared_active<false>(l.core, my_record())) return 0;
  } else if (owner == owner_token()) {
    return may_note() ? write_unlock_by_state(l) : write_unlock<false>(l);
  }
  return read_unlock_slow(lock);
}

// For a thread with nested holds.
[[gnu::noinline]] int unlock_slow(pthread_rwlock_t* lock) noexcept {
  layout& l = of(lock);
  const std::uint64_t state = l.core.state.load(platform::relaxed);
  const bool writes = (state & rwlock::writing) != 0 && is_mine(l);
  return writes ? write_unlock_by_state(l) : read_unlock_slow(lock);
}

[[gnu::noinline]] int report_release(pthread_rwlock_t* lock, passive_release how) noexcept {
  const rwlock& core = of(lock).core;
  after_passive_release(core, my_record(), index_of_release(core, how));
  return 0;
}

[[gnu::noinline]] int clock_rdlock_at_last(pthread_rwlock_t* lock, clockid_t clock,
                                           const timespec* at, passive_attempt attempt) noexcept {
  if (is_shared(of(lock))) return clock_rdlock_of_c_library(lock, clock, at);
  const platform::deadline until{clock, *at};
  return read_lock_slow(lock, form::blocking, &until, attempt);
}

int clock_rdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) noexcept {
  if (!is_valid(clock, at)) return EINVAL;
  layout& l = of(lock);
  passive_attempt attempt = passive_attempt::unavailable;
  if (is_biased(l.core)) {
    attempt = lock_shared_passively(l.core, my_record());
    if (attempt == passive_attempt::acquired) [[likely]]
      return 0;
  } else {
    const active_attempt then = lock_shared_actively<false>(l.core, my_record());
    if (then == active_attempt::acquired) return 0;
    if (then == active_attempt::account_due) return settle_account(l);
  }
  return clock_rdlock_at_last(lock, clock, at, attempt);
}

[[gnu::noinline]] int clock_wrlock_at_last(pthread_rwlock_t* lock, clockid_t clock,
                                           const timespec* at) noexcept {
  if (is_shared(of(lock))) return clock_wrlock_of_c_library(lock, clock, at);
  const platform::deadline until{clock, *at};
  return write_lock_slow(of(lock), form::blocking, &until);
}

int clock_wrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) noexcept {
  if (!is_valid(clock, at)) return EINVAL;
  layout& l = of(lock);
  return write_lock(l, l.core.state.load(platform::relaxed),
                    [&] { return clock_wrlock_at_last(lock, clock, at); });
}

}  // namespace

}  // namespace readmost::detail::interpose

using namespace readmost;
using namespace readmost::detail;
using namespace readmost::detail::interpose;

READMOST_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
  // Decided before the memory, which may belong to glibc's lock, is written.
  const attributes asked = attributes_of(attr);
  if (asked.shared != PTHREAD_PROCESS_PRIVATE)
    return pass_on<&rwlock_functions::init>::call(lock, attr);
  make_free(lock, asked);
  return 0;
}

READMOST_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  if (is_shared(l)) return pass_on<&rwlock_functions::destroy>::call(lock);
  forget_holds_before_reuse(l.core);
  return 0;
}

READMOST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return read_lock(lock, form::blocking);
}

READMOST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  return read_lock(lock, form::trying);
}

READMOST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
  return clock_rdlock(lock, CLOCK_REALTIME, at);
}

#if defined(__GLIBC__)
READMOST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  return clock_rdlock(lock, clock, at);
}
#endif

READMOST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  if (is_shared(l)) [[unlikely]]
    return pass_on<&rwlock_functions::wrlock>::call(lock);
  const std::uint64_t state =
      may_note() ? l.core.state.load(platform::relaxed) : likely_free<false>(l.core);
  return write_lock(l, state, [&] { return write_lock_at_last(lock, form::blocking); });
}

READMOST_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  layout& l = of(lock);
  return write_lock(l, l.core.state.load(platform::relaxed),
                    [&] { return write_lock_at_last(lock, form::trying); });
}

READMOST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
  return clock_wrlock(lock, CLOCK_REALTIME, at);
}

#if defined(__GLIBC__)
READMOST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* at) {
  return clock_wrlock(lock, clock, at);
}
#endif

READMOST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  const passive_release how = unlock_shared_passively(
      of(lock).core, my_record(), []() -> const domain& { return default_domain; });
  if (how == passive_release::done) [[likely]]
    return 0;
  if (how == passive_release::stacked) return unlock_slow(lock);
  if (how != passive_release::unavailable) return report_release(lock, how);
  return unlock_otherwise(lock);
}

#if defined(__GLIBC__)
READMOST_OLDER_NAMES
#endif
