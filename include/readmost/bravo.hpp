// SPDX-License-Identifier: Apache-2.0
// BRAVO (Dice and Kogan, USENIX ATC 2019): wraps any lock in one whose readers scale.
//
//   readmost::bravo<std::shared_mutex> lock;        // or std::mutex, or a class of your own
//   { std::shared_lock reading(lock); ... }
//   { std::unique_lock writing(lock); ... }
//
// While the lock is *biased*, a reader only notes the lock in a slot of a table and does not touch
// the lock. A writer takes the underlying lock, clears the bias and waits until no slot names the
// lock any more: a *revocation*. Readers that find the lock unbiased, or their slot taken, take the
// underlying lock (*slow* readers); a slow reader may set the bias again. This is Listing 1 of the
// paper; docs/bravo.md describes the differences and the benefit of each part.
//
// Lock: default constructible or made from the constructor's arguments, with lock(), try_lock(),
// unlock() and, unless it is a mutex, lock_shared(), try_lock_shared(), unlock_shared(). Over a
// mutex, slow readers hold it exclusively, and readers run in parallel only through their slots.
// Timed members exist if Lock has them.
//
// Thread safety: all members. A thread may hold several read locks and release them in any order.
// The thread that took a read lock releases it, before it ends. A thread that holds the lock for
// reading through its slot may lock it for reading again at any time: that never blocks and does
// not touch the underlying lock. A recursive slow reader depends on the underlying lock, except
// that a mutex is not locked again by its own reader.
//
// Signal safety: a handler may lock for reading and unlock, whichever member it interrupts, if the
// interrupted thread is inside as a reader or the handler only tries; as far as it uses Lock,
// Lock's own rules apply.
//
// Preference: that of the underlying lock. Without `writers_queue`, new readers wait for a writer
// that itself waits for the readers that entered before.
//
// Progress: a read lock through a slot is wait-free. Cost: one compare-and-swap of a line that is
// mostly the reader's own, about 8 ns for lock and unlock; with bravo_consensus_policy no
// read-modify-write and no fence, about 2 ns. A slow read lock: about 2 ns more than Lock's. A
// write lock: Lock's, plus a scan of the table if the lock was biased, 50 to 300 ns. Size: that of
// Lock plus 16 bytes, plus 8 over a mutex; the process has one table.
//
// Errors: none of its own. If Lock throws, the exception passes through and the lock is unchanged.
// Not for memory that several processes share. In the child of a fork, only the thread that forked
// is still inside through slots of the process's tables; with a private table, no thread may hold a
// lock during a fork.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <readmost/detail/bravo/basic_bravo.hpp>

namespace readmost {

// The choices of a policy: the table where readers publish, and when a lock is biased.
using detail::private_table;
using detail::shared_growing_table;
using detail::shared_table_of_4096;

using detail::drawn_bias;
using detail::eager_bias;
using detail::inhibited_bias;
using detail::weighed_bias;

// --- Policies -----------------------------------------------------------------------------------

// The fastest one measured; see docs/bravo.md. Derive from one of these to define another.
struct bravo_policy {
  // The table of slots: shared_table_of_4096, shared_growing_table, private_table<>.
  using table = shared_growing_table;
  // When the lock is biased: detail/bravo/bias_policies.hpp.
  using bias = weighed_bias;
  // Each thread has its slots for all locks in a line of its own, as long as there are enough
  // lines. Otherwise slots are chosen by hash, as in the paper.
  static constexpr bool spreads_threads = true;
  // A reader that finds its slot taken tries a second one.
  static constexpr bool second_probe = true;
  // Scans use the widest vectors that the processor has.
  static constexpr bool vector_scan = true;
  // Writers first take a mutex of their own, revoke, and then take the underlying lock, through
  // which readers can enter meanwhile. (Section 7)
  static constexpr bool writers_queue = false;
  // Readers publish in slots of their own by plain stores; `table` and `spreads_threads` are not
  // used.
  static constexpr bool by_consensus = false;
  // Nanoseconds that a read through a slot saves when no other thread reads.
  static constexpr std::int32_t saved = 8;
};

// Listing 1 with N = 9.
struct bravo_paper_policy : bravo_policy {
  using table = shared_table_of_4096;
  using bias = inhibited_bias<9>;
  static constexpr bool spreads_threads = false;
  static constexpr bool second_probe = false;
  static constexpr bool vector_scan = false;
};

// Readers execute no atomic read-modify-write and no fence.
struct bravo_consensus_policy : bravo_policy {
  static constexpr bool by_consensus = true;
};

// --- The lock -----------------------------------------------------------------------------------

// Members: those of std::shared_timed_mutex as far as Lock has them (not the timed ones over a lock
// without), and
//   underlying()  the Lock, for members that only it has. Locking it does not exclude readers that
//   enter through slots. is_biased()   a hint: whether the next reader would enter through a slot
template <class Lock, class Policy = bravo_policy>
class bravo : public detail::basic_bravo<Lock, Policy> {
 public:
  using detail::basic_bravo<Lock, Policy>::basic_bravo;
};

}  // namespace readmost
