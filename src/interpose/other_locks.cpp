#include "interpose/other_locks.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>

#include "interpose/glibc_rwlock.hpp"
#include "interpose/made_locks.hpp"
#include "interpose/settings.hpp"
#include "lock/posix_results.hpp"
#include "rivals/all.hpp"

namespace readmost::detail::interpose {

namespace {

// --- glibc's locks with the interface of the others, for BRAVO over them -------------------------

class glibc_rwlock {
 public:
  void lock() noexcept { glibc().wrlock(&lock_); }
  bool try_lock() noexcept { return glibc().trywrlock(&lock_) == 0; }
  void unlock() noexcept { glibc().unlock(&lock_); }
  void lock_shared() noexcept { glibc().rdlock(&lock_); }
  bool try_lock_shared() noexcept { return glibc().tryrdlock(&lock_) == 0; }
  void unlock_shared() noexcept { glibc().unlock(&lock_); }

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

// glibc's functions, called through functions of this library.
class passed_on {
 public:
  static constexpr rwlock_functions functions() noexcept {
    return {init,   destroy,   rdlock,      tryrdlock,   timedrdlock, clockrdlock,
            wrlock, trywrlock, timedwrlock, clockwrlock, unlock};
  }

 private:
  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
    return glibc().init(lock, attr);
  }
  static int destroy(pthread_rwlock_t* lock) { return glibc().destroy(lock); }
  static int rdlock(pthread_rwlock_t* lock) { return glibc().rdlock(lock); }
  static int tryrdlock(pthread_rwlock_t* lock) { return glibc().tryrdlock(lock); }
  static int timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
    return glibc().timedrdlock(lock, at);
  }
  static int clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
    return glibc().clockrdlock(lock, clock, at);
  }
  static int wrlock(pthread_rwlock_t* lock) { return glibc().wrlock(lock); }
  static int trywrlock(pthread_rwlock_t* lock) { return glibc().trywrlock(lock); }
  static int timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
    return glibc().timedwrlock(lock, at);
  }
  static int clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
    return glibc().clockwrlock(lock, clock, at);
  }
  static int unlock(pthread_rwlock_t* lock) { return glibc().unlock(lock); }
};

template <class Lock>
class over {
 public:
  static constexpr rwlock_functions functions() noexcept {
    return {init,   destroy,   rdlock,      tryrdlock,   timedrdlock, clockrdlock,
            wrlock, trywrlock, timedwrlock, clockwrlock, unlock};
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

  static bool is_shared(pthread_rwlock_t* lock) noexcept { return of(lock).shared != 0; }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attr) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    int kind = PTHREAD_RWLOCK_DEFAULT_NP;
    if (attr != nullptr) {
      pthread_rwlockattr_getpshared(attr, &shared);
      pthread_rwlockattr_getkind_np(attr, &kind);
    }
    if (shared != PTHREAD_PROCESS_PRIVATE) return glibc().init(lock, attr);
    __builtin_memset(static_cast<void*>(lock), 0, sizeof *lock);
    of(lock).kind = static_cast<unsigned int>(kind);
    return 0;
  }

  static int destroy(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().destroy(lock);
    if (of(lock).made.load(platform::relaxed) != nullptr) retire_lock(of(lock));
    return 0;
  }

  static int rdlock(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().rdlock(lock);
    if (is_mine(of(lock))) [[unlikely]]
      return EDEADLK;
    lock_of(of(lock)).lock_shared();
    return 0;
  }

  static int tryrdlock(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().tryrdlock(lock);
    return !is_mine(of(lock)) && lock_of(of(lock)).try_lock_shared() ? 0 : EBUSY;
  }

  static int clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().clockrdlock(lock, clock, at);
    if (!is_valid(clock, at)) return EINVAL;
    if (is_mine(of(lock))) return EDEADLK;
    Lock& other = lock_of(of(lock));
    return try_until(clock, at, [&] { return other.try_lock_shared(); });
  }

  static int timedrdlock(pthread_rwlock_t* lock, const timespec* at) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().timedrdlock(lock, at);
    return clockrdlock(lock, CLOCK_REALTIME, at);
  }

  static int wrlock(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().wrlock(lock);
    layout& l = of(lock);
    if (is_mine(l)) [[unlikely]]
      return EDEADLK;
    lock_of(l).lock();
    l.owner.store(owner_token(), platform::relaxed);
    return 0;
  }

  static int trywrlock(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().trywrlock(lock);
    layout& l = of(lock);
    if (is_mine(l) || !lock_of(l).try_lock()) return EBUSY;
    l.owner.store(owner_token(), platform::relaxed);
    return 0;
  }

  static int clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().clockwrlock(lock, clock, at);
    layout& l = of(lock);
    if (!is_valid(clock, at)) return EINVAL;
    if (is_mine(l)) return EDEADLK;
    Lock& other = lock_of(l);
    const int result = try_until(clock, at, [&] { return other.try_lock(); });
    if (result == 0) l.owner.store(owner_token(), platform::relaxed);
    return result;
  }

  static int timedwrlock(pthread_rwlock_t* lock, const timespec* at) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().timedwrlock(lock, at);
    return clockwrlock(lock, CLOCK_REALTIME, at);
  }

  static int unlock(pthread_rwlock_t* lock) {
    if (is_shared(lock)) [[unlikely]]
      return glibc().unlock(lock);
    layout& l = of(lock);
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
  made.add(static_cast<std::size_t>(lock_choice::prwlock), passed_on::functions());
  made.add(static_cast<std::size_t>(lock_choice::pthread), passed_on::functions());
  const entry_maker make{made};
  rivals::for_each_rival(make);
  make.operator()<bravo<glibc_rwlock>>("bravo-pthread");
  make.operator()<bravo<rivals::pf_q>>("bravo-ba");
  make.operator()<bravo<shared_mutex>>("bravo-prwlock");
  make.operator()<bravo<glibc_mutex>>("bravo-mutex");
  make.operator()<bravo<glibc_rwlock, bravo_consensus_policy>>("bravo-consensus");
  return made;
}

constexpr table all = make_table();

constexpr bool is_complete(const table& t) noexcept {
  for (const bool is_there : t.is_there) {
    if (!is_there) return false;
  }
  return true;
}
static_assert(is_complete(all));

}  // namespace

const rwlock_functions& others() noexcept {
  return all.of[static_cast<std::size_t>(current_settings().lock)];
}

}  // namespace readmost::detail::interpose
