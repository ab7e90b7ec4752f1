// SPDX-License-Identifier: Apache-2.0
// readmost::shared_mutex: std::shared_mutex whose readers do not disturb one another.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <readmost/detail/lock/basic_shared_mutex.hpp>

namespace readmost {

// A reader-writer lock with the interface of std::shared_mutex, for std::shared_lock,
// std::unique_lock and std::lock_guard. 16 bytes, trivially destructible, usable as a
// constant-initialised global.
//
// Cost. While reads are frequent and writes are rare, the lock is biased. A read lock is then two
// stores to cache lines of the calling thread and a few loads, about 1 ns, with no atomic
// read-modify-write and no fence. A write lock then needs a consensus with the other threads: some
// cache misses if readers are running, a membarrier(2) of about 2 us otherwise; three
// compare-and-swaps if no other thread has read any lock of late. A lock that is written too often
// for that is an ordinary reader-writer lock: one compare-and-swap to lock, one to unlock. The lock
// switches by itself, so that revocations never cost more than passive reads have saved
// (src/lock/bias.hpp). Where membarrier(2) is missing, a read lock of a biased lock executes a
// fence, and its writers need no consensus.
//
// Progress. Passive read locks and unlocks are wait-free, active unlocks lock-free. All other
// operations may block: they spin briefly, then sleep (futex). Under preference::writer a reader
// that has waited for a millisecond waits for at most one more writer. Under preference::reader
// writers may starve. Under preference::phase_fair a reader waits for at most two writers, apart
// from such as come and leave within the 0.3 us between its looks; and a writer for those before
// it, with one phase of readers between each two. Where threads outnumber the CPUs, a reader may
// first spin for some 20 us and stay away from a busy lock for up to 80 ms, and then waits for at
// most one writer.
//
// Preconditions. The thread that locks also unlocks. A thread may read-lock a lock again that it
// holds for reading, also while a writer waits; write-locking a lock that it holds already is a
// deadlock. The lock is not in memory that several processes share, and is used through one copy of
// the library.
//
// Errors: none are reported. Thread safety: all members. Signals: a handler may use
// try_lock_shared() and its unlock, and the blocking members as far as the program rules out
// deadlock. After fork(2) the child's copy has the holds of the parent's threads. Sources: FCP 4
// (prwlock), BRAVO 3 (bias).
class shared_mutex : public detail::basic_shared_mutex<detail::in_default_domain> {
 public:
  constexpr shared_mutex() noexcept : shared_mutex(preference::writer) {}
  constexpr explicit shared_mutex(preference prefers) noexcept : basic_shared_mutex(prefers) {}
};
static_assert(sizeof(shared_mutex) == 16);

// Hints, which correctness never needs. Without them, a thread that stops using its locks is taken
// offline at the cost of one membarrier. Thread safety: both.

// The calling thread will read-lock soon. Saves its next read lock about 50 ns.
inline void online() noexcept {
  if (detail::thread_record* me = detail::enlist()) detail::come_online(*me);
}

// The calling thread will not read-lock for a while, for instance because it is about to block.
// Writers then need no report from it. It keeps its holds.
inline void offline() noexcept {
  if (&detail::my_record() != &detail::unregistered) detail::go_offline(detail::my_record());
}

}  // namespace readmost
