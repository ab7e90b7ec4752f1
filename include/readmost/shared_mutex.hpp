// readmost::shared_mutex: std::shared_mutex whose readers do not disturb one another.
#pragma once

#include <readmost/detail/lock/basic_shared_mutex.hpp>

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
// saved (src/lock/bias.hpp).
//
// Progress: passive read locks and unlocks are wait-free, active unlocks lock-free. The rest
// blocks: it spins briefly, then sleeps (futex). Under preference::writer a reader waits for at
// most one more writer once it has waited for a millisecond; under preference::reader writers may
// starve; under preference::phase_fair a reader waits for one writer at most, and a writer for
// those before it, with one phase of readers between each two. Recursion: a thread may read-lock
// again what it holds for reading, also while a writer waits. Errors: none are reported; locking
// for writing what the thread holds already is a deadlock. Thread safety: all members; lock and
// unlock by the same thread. Signals: try_lock_shared() and its unlock may be used in a handler;
// the blocking members as far as the program itself rules out deadlock. Processes: after fork(2)
// the child's copy holds what the parent's threads held. Not for memory that several processes
// share, and one lock is to be used through one copy of the library. Sources: FCP 4 (prwlock),
// BRAVO 3 (bias).
class shared_mutex : public detail::basic_shared_mutex<detail::in_default_domain> {
 public:
  constexpr shared_mutex() noexcept : shared_mutex(preference::writer) {}
  constexpr explicit shared_mutex(preference prefers) noexcept : basic_shared_mutex(prefers) {}
};
static_assert(sizeof(shared_mutex) == 16);

// Hints for threads that know their future. Neither is ever needed for correctness, and a thread
// that stays away from its locks goes offline by itself at the expense of one membarrier.

// The calling thread will read-lock soon: saves its next read lock about 50 ns.
inline void online() noexcept {
  if (detail::thread_record* me = detail::enlist()) detail::come_online(*me);
}

// The calling thread will not read-lock for a while, for instance because it is about to block:
// writers wait for no report of it. What it holds stays held.
inline void offline() noexcept {
  if (&detail::my_record() != &detail::unregistered) detail::go_offline(detail::my_record());
}

}  // namespace readmost
