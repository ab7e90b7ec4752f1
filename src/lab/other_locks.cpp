// SPDX-License-Identifier: Apache-2.0
#include "lab/other_locks.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>

#include "interpose/glibc_rwlock.hpp"
#include "lab/made_locks.hpp"
#include "lock/posix_results.hpp"
#include "rivals/all.hpp"

namespace readmost::detail::lab {

using interpose::attributes;
using interpose::attributes_of;
using interpose::glibc;
using interpose::glibc_functions;
using interpose::owner_token;
using interpose::rwlock_functions;

namespace {

// --- glibc's locks with the interface of the others, for BRAVO over them -------------------------

class glibc_rwlock {
 public:
  void lock() noexcept { glibc_functions.wrlock(&lock_); }
  bool try_lock() noexcept { return glibc_functions.trywrlock(&lock_) == 0; }
  void unlock() noexcept { glibc_functions.unlock(&lock_); }
  void lock_shared() noexcept { glibc_functions.rdlock(&lock_); }
  bool try_lock_shared() noexcept { return glibc_functions.tryrdlock(&lock_) == 0; }
  void unlock_shared() noexcept { glibc_functions.unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

class glibc_mutex {
 public:
  void lock() noexcept { pthread_mutex_lock(&lock_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&lock_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&lock_); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

// --- pthread's functions over any of them --------------------------------------------------------

// Tries until the deadline. Between attempts it first yields the CPU, then sleeps, each time twice
// as long: a thread that waits for one of these locks cannot give up.
template <class Try>
int try_until(clockid_t clock, const timespec* at, Try attempt) noexcept {
  constexpr int yields = 16;
  constexpr std::uint64_t longest = 1'000'000;
  const platform::deadline end{clock, *at};
  std::uint64_t pause = 1'000;
  for (int tries = 0; !attempt(); ++tries) {
    const std::uint64_t left = platform::time_left(end);
    if (left == 0) return ETIMEDOUT;
    if (tries < yields) {
      platform::yield();
    } else {
      platform::sleep_for(pause < left ? pause : left);
      if (pause < longest) pause *= 2;
    }
  }
  return 0;
}

using all = rwlock_functions;

// Calls `Own`, but glibc's function for a process-shared lock.
template <auto Function, auto Own>
struct unless_shared;
template <class... Arguments, int (*rwlock_functions::*Function)(pthread_rwlock_t*, Arguments...),
          int (*Own)(layout&, Arguments...)>
struct unless_shared<Function, Own> {
  static int call(pthread_rwlock_t* lock, Arguments... arguments) {
    if (of(lock).shared != 0) [[unlikely]]
      return (glibc().*Function)(lock, arguments...);
    return Own(of(lock), arguments...);
  }
};

template <class Lock>
class over {
 public:
  static constexpr rwlock_functions functions() noexcept {
    return {.init = init,
            .destroy = unless_shared<&all::destroy, destroy>::call,
            .rdlock = unless_shared<&all::rdlock, rdlock>::call,
            .tryrdlock = unless_shared<&all::tryrdlock, tryrdlock>::call,
            .timedrdlock = unless_shared<&all::timedrdlock, timedrdlock>::call,
            .clockrdlock = unless_shared<&all::clockrdlock, clockrdlock>::call,
            .wrlock = unless_shared<&all::wrlock, wrlock>::call,
            .trywrlock = unless_shared<&all::trywrlock, trywrlock>::call,
            .timedwrlock = unless_shared<&all::timedwrlock, timedwrlock>::call,
            .clockwrlock = unless_shared<&all::clockwrlock, clockwrlock>::call,
            .unlock = unless_shared<&all::unlock, unlock>::call};
  }

 private:
  static_assert(alignof(Lock) <= platform::cache_line);
  static constexpr lock_class made_of = {sizeof(Lock), [](void* memory) { new (memory) Lock; },
                                         [](void* memory) { static_cast<Lock*>(memory)->~Lock(); }};

  static Lock& lock_of(layout& l) noexcept {
    void* made = l.made.load(platform::acquire);
    if (made == nullptr) [[unlikely]] {
      made = make_lock(l, made_of);
    }
    return *static_cast<Lock*>(made);
  }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
    const attributes asked = attributes_of(attr);
    if (asked.shared != PTHREAD_PROCESS_PRIVATE) return glibc().init(lock, attr);
    make_free(lock, asked);
    return 0;
  }

  static int destroy(layout& l) {
    if (l.made.load(platform::relaxed) != nullptr) retire_lock(l);
    return 0;
  }

  static int rdlock(layout& l) {
    if (is_mine(l)) [[unlikely]]
      return EDEADLK;
    lock_of(l).lock_shared();
    return 0;
  }

  static int tryrdlock(layout& l) {
    return !is_mine(l) && lock_of(l).try_lock_shared() ? 0 : EBUSY;
  }

  static int clockrdlock(layout& l, clockid_t clock, const timespec* at) {
    if (!is_valid(clock, at)) return EINVAL;
    if (is_mine(l)) return EDEADLK;
    Lock& other = lock_of(l);
    return try_until(clock, at, [&] { return other.try_lock_shared(); });
  }

  static int timedrdlock(layout& l, const timespec* at) {
    return clockrdlock(l, CLOCK_REALTIME, at);
  }

  static int wrlock(layout& l) {
    if (is_mine(l)) [[unlikely]]
      return EDEADLK;
    lock_of(l).lock();
    l.owner.store(owner_token(), platform::relaxed);
    return 0;
  }

  static int trywrlock(layout& l) {
    if (is_mine(l) || !lock_of(l).try_lock()) return EBUSY;
    l.owner.store(owner_token(), platform::relaxed);
    return 0;
  }

  static int clockwrlock(layout& l, clockid_t clock, const timespec* at) {
    if (!is_valid(clock, at)) return EINVAL;
    if (is_mine(l)) return EDEADLK;
    Lock& other = lock_of(l);
    const int result = try_until(clock, at, [&] { return other.try_lock(); });
    if (result == 0) l.owner.store(owner_token(), platform::relaxed);
    return result;
  }

  static int timedwrlock(layout& l, const timespec* at) {
    return clockwrlock(l, CLOCK_REALTIME, at);
  }

  static int unlock(layout& l) {
    void* const made = l.made.load(platform::acquire);
    if (made == nullptr) [[unlikely]]
      return 0;
    Lock& other = *static_cast<Lock*>(made);
    if (is_mine(l)) {
      l.owner.store(0, platform::relaxed);
      other.unlock();
    } else {
      other.unlock_shared();
    }
    return 0;
  }
};

// --- The table -----------------------------------------------------------------------------------

struct table {
  rwlock_functions of[lock_names.size()]{};
  bool is_there[lock_names.size()]{};

  constexpr void add(std::size_t which, const rwlock_functions& functions) noexcept {
    of[which] = functions;
    is_there[which] = true;
  }
};

struct entry_maker {
  table& made;

  template <class Lock>
  constexpr void operator()(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < lock_names.size(); ++i) {
      if (lock_names[i] == name) made.add(i, over<Lock>::functions());
    }
  }
};

constexpr table make_table() noexcept {
  table made;
  const entry_maker make{made};
  rivals::for_each_rival(make);
  make.operator()<bravo<glibc_rwlock>>("bravo-pthread");
  make.operator()<bravo<rivals::pf_q>>("bravo-ba");
  make.operator()<bravo<shared_mutex>>("bravo-prwlock");
  make.operator()<bravo<glibc_mutex>>("bravo-mutex");
  make.operator()<bravo<glibc_rwlock, bravo_consensus_policy>>("bravo-consensus");
  return made;
}

constexpr table every_lock = make_table();

// Whether every name has its lock, but Readmost's own and glibc's, which come first.
constexpr bool is_complete(const table& t) noexcept {
  for (std::size_t i = 2; i < lock_names.size(); ++i) {
    if (!t.is_there[i]) return false;
  }
  return true;
}
static_assert(is_complete(every_lock));

}  // namespace

const rwlock_functions& functions_of(lock_choice lock) noexcept {
  const rwlock_functions& glibcs = glibc();
  return lock == lock_choice::pthread ? glibcs : every_lock.of[static_cast<std::size_t>(lock)];
}

}  // namespace readmost::detail::lab
