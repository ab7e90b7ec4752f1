// readmost::shared_mutex: std::shared_mutex whose readers do not disturb one another.
#pragma once

#include <readmost/rwlock.hpp>

namespace readmost {

// A reader-writer lock with the shape of std::shared_mutex; use it with std::shared_lock,
// std::unique_lock and std::lock_guard. 16 bytes, trivially destructible, usable as a constant
// initialised global.
//
// While reads are frequent and writes are rare the lock is biased: a read lock is two stores to
// cache lines of the calling thread and a few loads, about 1 ns, with no atomic read-modify-write
// and no fence. A write lock then pays a consensus with the other threads: some cache misses while
// readers are hot, a membarrier(2) of about 2 us otherwise. A lock that is written too often for
// that to pay is an ordinary 16-byte reader-writer lock: one compare-and-swap each way. The lock
// moves between the two by itself, so that what revocations cost never exceeds what passive reads
// saved (src/bias.hpp).
//
// Progress: passive read locks and unlocks are wait-free, active unlocks lock-free. The rest
// blocks: it spins briefly, then sleeps (futex). Under preference::writer a reader waits for at
// most one more writer once it has waited for a millisecond; under preference::reader writers may
// starve. Recursion: a thread may read-lock again what it holds for reading, also while a writer
// waits. Errors: none are reported; locking for writing what the thread holds already is a
// deadlock. Thread safety: all members; lock and unlock by the same thread. Signals:
// try_lock_shared() and its unlock may be used in a handler; the blocking members as far as the
// program itself rules out deadlock. Processes: after fork(2) the child's copy holds what the
// parent's threads held. Not for memory that several processes share, and one lock is to be used
// through one copy of the library. Source: prwlock of FCP (fcp.md section 4), bias after BRAVO
// (bravo.md section 3).
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  constexpr explicit shared_mutex(preference prefers) noexcept
      : core_{.traits =
                  prefers == preference::reader ? rwlock::reader_preference : std::uint8_t{0}} {}
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // Blocks until the calling thread holds the lock alone.
  void lock() noexcept { lock_exclusive(core_, how()); }

  // Takes the lock alone if nobody holds it; does not wait for anybody but a writer or reader that
  // is just about to know whether it has the lock.
  [[nodiscard]] bool try_lock() noexcept {
    rules at_once = how();
    at_once.try_only = true;
    return lock_exclusive(core_, at_once) == outcome::acquired;
  }

  // Precondition: the calling thread holds the lock alone.
  void unlock() noexcept { unlock_exclusive(core_, how()); }

  // Blocks until the calling thread shares the lock with other readers.
  void lock_shared() noexcept {
    const passive_attempt attempt = lock_shared_passively(core_);
    if (attempt != passive_attempt::acquired) [[unlikely]] {
      lock_shared_otherwise(attempt);
    }
  }

  // Shares the lock if no writer holds it and none is preferred.
  [[nodiscard]] bool try_lock_shared() noexcept {
    if (try_lock_shared_passive(core_) || try_lock_shared_active(core_)) [[likely]]
      return true;
    rules at_once = how();
    at_once.try_only = true;
    return lock_shared_slow(core_, at_once) == outcome::acquired;
  }

  // Precondition: the calling thread holds the lock shared.
  void unlock_shared() noexcept {
    if (!try_unlock_shared_passive(core_)) [[unlikely]] {
      unlock_shared_otherwise();
    }
  }

 private:
  // Out of line, so that the passive path has nothing to save.
  [[gnu::noinline]] void lock_shared_otherwise(passive_attempt attempt) noexcept {
    if (attempt == passive_attempt::published) retract_published(core_);
    if (try_lock_shared_active(core_)) return;
    while (lock_shared_slow(core_, how()) == outcome::overflow) platform::yield();
  }

  [[gnu::noinline]] void unlock_shared_otherwise() noexcept {
    if (!try_unlock_shared_active(core_)) unlock_shared_slow(core_);
  }

  rules how() const noexcept {
    rules r;
    if ((core_.traits.load(platform::relaxed) & rwlock::reader_preference) != 0) {
      r.prefers = preference::reader;
    }
    return r;
  }

  rwlock core_;
};
static_assert(sizeof(shared_mutex) == 16);

// Hints for threads that know their future. Neither is ever needed for correctness, and a thread
// that stays away from its locks goes offline by itself at the expense of one membarrier.

// The calling thread will read-lock soon: saves its next read lock about 50 ns.
inline void online() noexcept {
  if (thread_record* me = enlist()) come_online(*me);
}

// The calling thread will not read-lock for a while, for instance because it is about to block:
// writers wait for no report of it. What it holds stays held.
inline void offline() noexcept {
  if (this_thread != &unregistered) go_offline(*this_thread);
}

}  // namespace readmost
