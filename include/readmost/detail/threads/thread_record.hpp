// SPDX-License-Identifier: Apache-2.0
// A thread's record tells the other threads which locks it holds for reading, whether it is inside
// a read section of RCU, and the last version it has seen.
//
// Records are type-stable: they are reused after their thread's exit and never unmapped, so any
// thread may read any of them at any time. Only the owner writes its record, with plain stores,
// except where a member says otherwise, where another thread moves a hold (src/lock/moving.cpp),
// and in a fork's child. (FCP 4.2: status per thread instead of per core; BRAVO 3: the entry names
// the lock, so a lock needs no memory per thread.)
#pragma once

#include <readmost/detail/platform/platform.hpp>
#include <readmost/detail/threads/gate.hpp>
#include <readmost/detail/threads/hold_slots.hpp>
#include <readmost/detail/threads/participation.hpp>
#include <readmost/detail/threads/section_word.hpp>

namespace readmost::detail {

using platform::at;

struct retired;
struct section_notes;
struct chunk;
struct index_entry;
struct hazard_slot;

// State of a thread's hazard pointers (src/rcu/hazard_pointer.cpp). The next owner of the record
// takes it over.
struct hazard_store {
  static constexpr std::uint32_t most_spares = 8;

  // Objects that the owner has retired, latest first. A scan takes the list.
  platform::atomic<retired*> latest{};
  // Only the owner uses the members below. What it has added to lists less what it has taken, as
  // far as the sums over all threads do not contain it:
  platform::variable<std::int64_t> uncounted_objects{};
  platform::variable<std::int64_t> uncounted_bytes{};
  // Slots kept for the next hazard pointers. `in_use` tells signal handlers that they are being
  // moved.
  platform::variable<bool> in_use{};
  platform::variable<std::uint32_t> spares{};
  platform::variable<hazard_slot*> spare[most_spares]{};
  // Objects that the scan in progress has not examined yet.
  platform::variable<retired*> examined{};
  // Closed while the owner moves them or another thread forks. `stopped_by` identifies the forking
  // thread, by the address of a variable of its own.
  gate moving;
  platform::atomic<const void*> stopped_by{};
  // Hash table of protected objects, for scans.
  platform::variable<std::uintptr_t*> table{};
  platform::variable<std::size_t> table_entries{};
};

struct alignas(platform::cache_line) thread_record {
  // Line 1: passive holds by home slot. Written at every passive read lock and unlock.
  platform::atomic<std::uintptr_t> held[home_slots]{};

  // Line 2: polled by rounds, read by the owner at every read lock, written rarely.
  alignas(platform::cache_line)
      // The last version reported; odd: reported while holding passive locks or inside a read
      // section, so read `held` and `section`.
      platform::atomic<std::uint64_t> seen{};
  // The owner moves it from offline, dormant or leaving to online, and from online to dormant.
  // Rounds move it from online by way of leaving to dormant, and from dormant by way of unlisting
  // to offline or back. Each step is a compare-and-swap, but for the step from unlisting: only the
  // round that unlists the record takes it.
  platform::atomic<std::uint32_t> mode{};
  // Holds in `nested_held`, which is a stack. While there are any, new holds go there too and an
  // unlock looks there first, so that a signal handler releases its own hold of a lock, not that of
  // the operation that it interrupted. Raised before a hold is published there, and lowered after
  // it is released.
  platform::atomic<std::uint32_t> nested{};
  // Rounds in a row that found the record dormant. Written by rounds, and by the owner when it
  // comes online; a hint.
  platform::atomic<std::uint32_t> idle_rounds{};
  // Where the kernel notes switches of the thread, and the period there: see
  // src/threads/switch_notes_layout.h. 0 without the scheduler's help.
  platform::atomic<std::uint64_t> note{};

  // Line 3: passive reads by home slot, written at every passive read lock. The bias policy and the
  // statistics use them.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> reads[home_slots]{};

  // Line 4: the nesting of read sections of RCU. Written at every entry and exit by one store, so
  // that a signal handler finds it correct between any two instructions. And by home slot, for the
  // owner alone, what a passive read saves while many want the lock's line, in nanoseconds, as far
  // as that is known, and how the owner left the account of a lock: see bias.hpp.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> section{};
  platform::variable<std::uint16_t> saved[home_slots]{};
  platform::variable<std::uint32_t> left_account[home_slots]{};

  // Line 5: objects that the owner has retired, latest first; the reclaimer takes the list. And how
  // much of it reclamation has not counted yet: see src/rcu/reclamation.cpp.
  alignas(platform::cache_line) platform::atomic<retired*> retired_latest{};
  platform::atomic<std::uint32_t> uncounted_objects{};
  platform::atomic<std::uint64_t> uncounted_bytes{};
  // The owner's thread id.
  platform::atomic<std::int32_t> thread{};

  // Line 6: passive holds whose home slot was taken. And the number of `reads`, modulo its range,
  // that are credited, for the owner alone: see bias.hpp.
  alignas(platform::cache_line) platform::atomic<std::uintptr_t> nested_held[nested_slots]{};
  platform::variable<std::uint32_t> credited[home_slots]{};

  // The other lines are used by the owner alone, unless a member says otherwise.
  // Active holds of locks that note them, and the number of those that found no place.
  alignas(platform::cache_line) platform::variable<std::uintptr_t> noted[noted_holds]{};
  platform::variable<std::uint32_t> unnoted{};
  // Locks that the thread was the first to use and that the domain does not count yet.
  platform::atomic<std::uint32_t> locks_met{};
  // The lock that this thread claims: see src/lock/decision.hpp.
  platform::atomic<std::uintptr_t> deciding{};
  // The lock whose state counts this thread as waiting, and the kind of waiter (`waits_as`).
  platform::atomic<std::uintptr_t> waiting_in{};
  // The lock that this thread waited for last, and when that wait ended.
  platform::variable<std::uintptr_t> waited_for{};
  platform::variable<std::uint64_t> waited_until{};
  // Where the record lies: see chunk_of() and entry_of(). Set by the first owner.
  platform::variable<chunk*> in_chunk{};
  platform::variable<index_entry*> in_index{};
  platform::atomic<std::uint64_t> writes{};
  platform::atomic<std::uint64_t> revocations{};
  // Active reads, but for those since a lock's account was updated by this thread: then so many
  // were to pass until the next update, and so many are left.
  platform::atomic<std::uint64_t> active_reads{};
  platform::atomic<std::int32_t> account_period{};
  platform::atomic<std::int32_t> until_account{};

  // By passive slot, for a hold that another thread moves (src/lock/moving.cpp): the lock, tagged
  // until the move is complete.
  platform::atomic<std::uintptr_t> moved[passive_slots]{};

  alignas(platform::cache_line) hazard_store hazards{};

  // When and where the section was entered; only if misuse is checked (src/rcu/misuse.cpp).
  platform::atomic<section_notes*> notes{};

  // The lock for which the thread sleeps, tagged (`sleeps_as`), and since when, in nanoseconds. The
  // library never reads them; `readmost holders` and gdb do.
  platform::variable<std::uintptr_t> sleeps_for{};
  platform::variable<std::uint64_t> sleeps_since{};

  // Of `waited_for` (see src/lock/company.hpp): when the stretch began that is to be judged next,
  // and how many operations, and writes among them, there had been; when the last wait ended, and
  // how many operations there had been then; how long an operation takes while no other thread uses
  // that lock, in nanoseconds, or 0 if that is not known; what the last stretches said for or
  // against company; how long that last wait was, or 0 if that is not known.
  platform::variable<std::uint64_t> stretch_began{};
  platform::variable<std::uint64_t> stretch_operations{};
  platform::variable<std::uint64_t> stretch_writes{};
  platform::variable<std::uint64_t> wait_ended{};
  platform::variable<std::uint64_t> operations_at_wait{};
  platform::variable<std::uint64_t> time_alone{};
  platform::variable<std::int32_t> for_company{};
  platform::variable<std::uint64_t> wait_lasted{};

  // The phase of readers that this thread last came upon without being counted, and when it first
  // did: see src/lock/readers.cpp.
  platform::variable<std::uint64_t> phase_seen{};
  platform::variable<std::uint64_t> phase_seen_since{};
  // When the owner, as a writer, may yield to readers again: see src/lock/writers.cpp.
  platform::variable<std::uint64_t> yields_from{};
};

// The number of active reads of the record's threads.
inline std::uint64_t active_reads_of(const thread_record& record) noexcept {
  const std::int32_t since =
      record.account_period.load(platform::relaxed) - record.until_account.load(platform::relaxed);
  return record.active_reads.load(platform::relaxed) + static_cast<std::uint64_t>(since);
}

inline bool is_online(const thread_record& record) noexcept {
  return (record.mode.load(platform::relaxed) & online_bit) != 0;
}

// Whether the record is in the index, and no round is taking it out.
inline bool is_listed(const thread_record& record) noexcept {
  return (record.mode.load(platform::relaxed) & listed_bits) != 0;
}

// The number of domains that can have records of their own at a time: see lock_domain.hpp.
inline constexpr unsigned max_domains = 16;

// The calling thread's record in each domain. Before its first lock there and after its exit that
// is `unregistered`, whose slots are never free, so the fast path needs no extra test.
extern READMOST_THREAD_LOCAL thread_record* own_records[max_domains];
extern thread_record unregistered;

inline thread_record& my_record(unsigned domain = 0) noexcept {
  return *own_records[domain];
}

// The same, or null if that is `unregistered`.
inline thread_record* my_record_or_null(unsigned domain = 0) noexcept {
  thread_record& mine = my_record(domain);
  return &mine != &unregistered ? &mine : nullptr;
}

// Calls visit(slot, index) for every passive slot of the record that may be in use, until it
// returns false.
template <class Record, class Visit>
void for_each_slot(Record& record, Visit visit) noexcept {
  for (std::size_t i = 0; i < home_slots; ++i) {
    if (!visit(record.held[i], i)) return;
  }
  // (L2) Pairs with (D3): where the stack has become lower, what was held there is released.
  const std::uint32_t nested = record.nested.load(at(letter::L2, platform::acquire));
  for (std::uint32_t i = 0; i < nested && i < nested_slots; ++i) {
    if (!visit(record.nested_held[i], home_slots + i)) return;
  }
}

// Adds to a counter that only the calling thread writes.
inline void count_own(platform::atomic<std::uint64_t>& counter) noexcept {
  platform::add_one(counter);
}

}  // namespace readmost::detail
