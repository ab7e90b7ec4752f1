// BRAVO (Dice and Kogan, USENIX ATC 2019): makes a lock whose readers scale out of any other lock.
//
//   readmost::bravo<std::shared_mutex> lock;        // or std::mutex, or a class of your own
//   { std::shared_lock reading(lock); ... }
//   { std::unique_lock writing(lock); ... }
//
// While the lock is *biased*, a reader only notes the lock in a slot of a table
// (visible_readers.hpp) and leaves the lock alone. A writer takes the underlying lock, clears the
// bias and waits until no slot names the lock any more: a *revocation*. Readers that find the lock
// unbiased, or their slot taken, take the underlying lock (*slow* readers). One that has it may set
// the bias again. (Listing 1 of the paper; docs/bravo.md has what is different here, and what each
// part is worth.)
//
// Lock: default constructible or made from the constructor's arguments, with lock(), try_lock(),
// unlock() and, unless it is to be used as a mutex, lock_shared(), try_lock_shared(),
// unlock_shared(). Over a mutex slow readers hold it alone: all readers that enter side by side do
// so through their slots. Timed members are there if Lock has them.
//
// Threads: read locks may be held in number, are released by the thread that took them, in any
// order, and a thread must not end with one held. A thread that holds the lock for reading through
// its slot may lock it for reading again whatever else happens: that neither blocks nor meets the
// underlying lock. If its hold is in the underlying lock, that decides, but a mutex is not asked
// again by its reader.
//
// Signals: a handler may lock for reading and unlock, whatever of this lock it interrupts, if the
// interrupted thread is inside as a reader or the handler only tries; what it may do to Lock, Lock
// says.
//
// Preference: that of the underlying lock. But see `writers_queue`: without that, readers wait for
// a writer that itself waits for readers which entered before.
//
// Progress: a read lock through a slot is wait-free. Cost: one compare-and-swap of a line that is
// mostly the reader's own, about 8 ns for lock and unlock; with bravo_consensus_policy neither that
// nor a fence, about 2 ns. A slow read lock: some 2 ns more than that of Lock. A write lock: that
// of Lock, and where the lock was biased a scan of the table, some 50 to 300 ns. Size: that of Lock
// and 16 bytes, 8 more over a mutex; the table is the process's.
//
// Errors: none of its own; what Lock throws passes through, and the lock is then as it was. Not for
// memory that several processes share. In a fork's child none is inside any more that entered
// through a slot of a table of the process, but for the forking thread; of a private table it is
// not to hold any lock then.
#pragma once

#include <readmost/detail/bravo/basic_bravo.hpp>

namespace readmost {

// What a policy may name: where readers publish, and when a lock is biased.
using detail::private_table;
using detail::shared_growing_table;
using detail::shared_table_of_4096;

using detail::drawn_bias;
using detail::eager_bias;
using detail::inhibited_bias;
using detail::weighed_bias;

// --- Policies -----------------------------------------------------------------------------------

// What measures best; see docs/bravo.md. One's own is made by deriving from one of these.
struct bravo_policy {
  // Where the slots are: shared_table_of_4096, shared_growing_table, private_table<>.
  using table = shared_growing_table;
  // When the lock is biased: detail/bravo/bias_policies.hpp.
  using bias = weighed_bias;
  // Threads find their slots in lines of their own as long as there are lines, those of one lock
  // and of many, and a thread's locks share its line. Otherwise, as in the paper, all meet by
  // chance.
  static constexpr bool spreads_threads = true;
  // A reader that finds its slot taken looks at a second one.
  static constexpr bool second_probe = true;
  // Scans by the widest vectors that the processor has.
  static constexpr bool vector_scan = true;
  // Writers first take a mutex of their own, revoke, and then take the underlying lock, so that
  // readers enter through that in the meantime. (Section 7)
  static constexpr bool writers_queue = false;
  // Readers publish in slots of their own by plain stores; `table` and its like are not used.
  static constexpr bool by_consensus = false;
  // What a read through a slot saves, in nanoseconds, when nobody else reads.
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
//   underlying()  the Lock: for what only it offers. What is done to it directly passes readers by.
//   is_biased()   a hint: whether the next reader would enter through a slot
template <class Lock, class Policy = bravo_policy>
class bravo : public detail::basic_bravo<Lock, Policy> {
 public:
  using detail::basic_bravo<Lock, Policy>::basic_bravo;
};

}  // namespace readmost
