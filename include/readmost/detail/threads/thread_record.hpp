// What one thread tells the others: the locks it holds for reading, whether it is inside a read
// section of RCU, and the last version it saw.
//
// Records are type-stable: made once, reused after thread exit, never unmapped, so anybody may look
// into any of them at any time. Only the owner writes its record, with plain stores, except where a
// member says otherwise, where a debt is settled (erase_passive_holds) and in a fork's child.
// (FCP 4.2: per-thread instead of per-core status; BRAVO 3: the entry names the lock, so a
// lock needs no memory per thread.)
#pragma once

#include <readmost/detail/platform/platform.hpp>
#include <readmost/detail/threads/gate.hpp>

namespace readmost::detail {

using platform::at;

// Whether the owner may lock passively. The low three bits; the rest counts how often the owner
// came online, so that a compare-and-swap cannot mistake one period online for another.
enum class participation : std::uint32_t {
  offline = 0,   // not in the domain's index: rounds do not look here
  unlisting = 1,  // a round is taking it out of the index
  leaving = 2,   // told to stop by a round whose membarrier is still on its way
  dormant = 3,   // cannot lock passively; what it still holds is visible: a round only looks
  online = 4,    // may lock passively at any instant: a round needs its report or a membarrier
};
inline constexpr std::uint32_t participation_mask = 7;
inline constexpr std::uint32_t participation_period = 8;

constexpr participation participation_of(std::uint32_t mode) noexcept {
  return static_cast<participation>(mode & participation_mask);
}

// Read holds recorded per thread; further ones are counted in the lock instead.
inline constexpr std::size_t held_slots = 8;

// Tags in the low bits of a held slot; locks are at least 8-byte aligned.
inline constexpr std::uintptr_t held_active = 1;  // counted in the lock; noted here for recursion
inline constexpr std::uintptr_t held_free = 2;    // nothing held; the lock was the last one

constexpr bool is_free(std::uintptr_t held) noexcept {
  return held == 0 || (held & held_free) != 0;
}

constexpr bool is_passive_hold(std::uintptr_t held) noexcept {
  return held != 0 && (held & (held_active | held_free)) == 0;
}

// What a thread did to the lock that used a slot last and is not yet in that lock's entry; kept
// only while there are statistics per lock (src/statistics/lock_statistics.hpp). Its reads are
// those that the record counts for the slot (`reads`, `active_reads`) beyond the figures here.
struct tally {
  platform::atomic<std::uintptr_t> lock{};
  platform::atomic<std::uint64_t> reads_before{};
  platform::atomic<std::uint64_t> active_before{};
  platform::atomic<std::uint64_t> writes{};
};

// In the low bits of `waiting_in`.
enum class waits_as : std::uintptr_t { writer = 0, reader = 1, upgrader = 2, counted_upgrader = 3 };

// --- bits of thread_record::section ---
inline constexpr std::uint64_t section_nesting = 0xFFFF'FFFF;
// Counted in the domain as well, in one of its two phases, at the nesting that the highest bits
// tell and until that is left.
inline constexpr std::uint64_t section_counted = std::uint64_t{1} << 32;
inline constexpr std::uint64_t section_counted_in_second = std::uint64_t{1} << 33;
// Every entry and exit is to take the slow path, which looks for misuse (src/rcu/misuse.hpp).
inline constexpr std::uint64_t section_checked = std::uint64_t{1} << 34;
// No thread's record: see `unregistered`.
inline constexpr std::uint64_t section_of_nobody = std::uint64_t{1} << 35;
inline constexpr unsigned section_count_shift = 36;

constexpr bool is_open(std::uint64_t section) noexcept {
  return (section & section_nesting) != 0;
}

// At which nesting it was counted; 0 where it was not.
constexpr std::uint64_t counted_at(std::uint64_t section) noexcept {
  return section >> section_count_shift;
}

// Whether a grace period has to look at this record because of it: all of it is counted, or what a
// signal handler nests in a section whose entry it interrupted.
constexpr bool is_noted(std::uint64_t section) noexcept {
  return is_open(section) && counted_at(section) != 1;
}

struct retired;
struct section_notes;
struct chunk;
struct hazard_slot;

// What a thread keeps for hazard pointers (src/rcu/hazard_pointer.cpp). Passes on with the record.
struct hazard_store {
  static constexpr std::uint32_t most_spares = 8;

  // What the owner has retired, latest first; taken by whoever scans.
  platform::atomic<retired*> latest{};
  // The rest is the owner's. So many there may be on the list.
  platform::variable<std::uint32_t> retired_since{};
  // Slots kept for the next hazard pointers; `in_use` while they are being moved, for signal
  // handlers.
  platform::variable<bool> in_use{};
  platform::variable<std::uint32_t> spares{};
  platform::variable<hazard_slot*> spare[most_spares]{};
  // What the scan in progress has yet to look at.
  platform::variable<retired*> examined{};
  // Closed while the owner moves that, or another thread forks: that one, by a variable of its own.
  gate moving;
  platform::atomic<const void*> stopped_by{};
  // Where a scan notes what is protected.
  platform::variable<std::uintptr_t*> table{};
  platform::variable<std::size_t> table_entries{};
};

struct alignas(platform::cache_line) thread_record {
  // Line 1: the locks held for reading. Written at every passive read lock and unlock. What is
  // released stays, tagged: so a read lock knows for nothing whether its slot changes the lock.
  platform::atomic<std::uintptr_t> held[held_slots]{};

  // Line 2: polled by rounds, read by the owner at every read lock, written rarely.
  alignas(platform::cache_line)
      // The last version reported; odd: reported while holding passive locks or inside a read
      // section, so look into `held` and `section`.
      platform::atomic<std::uint64_t> seen{};
  // The owner goes from offline, dormant or leaving to online and from online to dormant; rounds go
  // from online to leaving to dormant, and by way of retiring to offline or back. All by
  // compare-and-swap, but for the way out of retiring, which only the round that retires takes.
  platform::atomic<std::uint32_t> mode{};
  // Holds that are not in their home slot. While there are any, an unlock looks at all
  // slots, latest first: a signal handler releases its own hold of a lock, not the one of the
  // operation that it interrupted.
  platform::atomic<std::uint32_t> elsewhere{};
  // Rounds in a row that found it dormant and holding nothing. Written by rounds and by the
  // owner when it comes online; a hint.
  platform::atomic<std::uint32_t> idle_rounds{};

  // Line 3: passive reads by home slot, written at every passive read lock. The bias policy and
  // the statistics live on them.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> reads[held_slots]{};

  // Line 4: read sections of RCU, nested so deep. Written at every entry and exit, by one store, so
  // that a signal handler finds it true between any two instructions.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> section{};

  // Line 5: what the owner has retired, latest first; taken by whoever collects. The rest is for
  // the account of what waits: see src/rcu/reclamation.cpp.
  alignas(platform::cache_line) platform::atomic<retired*> retired_latest{};
  platform::atomic<std::uint32_t> uncounted_objects{};
  platform::atomic<std::uint64_t> uncounted_bytes{};
  // The kernel's number of the owner.
  platform::atomic<std::int32_t> thread{};

  // Line 6 and 7: the owner's own affairs.
  // Of `reads`, see bias.hpp.
  alignas(platform::cache_line) platform::variable<std::uint64_t> credited[held_slots]{};
  // Active holds for which no slot was free.
  platform::variable<std::uint32_t> untracked{};
  // The lock that this thread is claiming or giving back, whose `grant` thus says nothing.
  platform::atomic<std::uintptr_t> deciding{};
  // The lock in whose state this thread is counted as waiting, and as what: see `waits_as`.
  platform::atomic<std::uintptr_t> waiting_in{};
  // The lock this thread waited for last, and when that was over.
  platform::variable<std::uintptr_t> waited_for{};
  platform::variable<std::uint64_t> waited_until{};
  platform::variable<std::uint32_t> number{};  // in the chunk
  platform::variable<chunk*> home{};
  platform::atomic<std::uint64_t> writes{};
  platform::atomic<std::uint64_t> revocations{};
  // Active reads by home slot.
  platform::atomic<std::uint64_t> active_reads[held_slots]{};
  // Reads by holds that are not in their home slot, and that are in none.
  platform::atomic<std::uint64_t> reads_elsewhere{};
  platform::atomic<std::uint64_t> active_elsewhere{};

  alignas(platform::cache_line) hazard_store hazards{};

  // Written by the owner, read by reports.
  alignas(platform::cache_line) tally tallies[held_slots]{};
  // The write hold that is being timed.
  platform::variable<std::uintptr_t> timed_lock{};
  platform::variable<std::uint64_t> timed_since{};
  // When and where the section was entered; made once misuse is looked for (src/rcu/misuse.cpp).
  platform::atomic<section_notes*> notes{};
};

// One bit of the mode tells.
inline bool is_online(const thread_record& record) noexcept {
  return (record.mode.load(platform::relaxed) &
          static_cast<std::uint32_t>(participation::online)) != 0;
}

// How many domains can have records of their own at a time: see lock_domain.hpp.
inline constexpr unsigned max_domains = 16;

// The calling thread's record in each domain. Before its first lock there and after its exit:
// `unregistered`, in whose slots nothing is ever free, so that the fast path needs no test of its
// own.
extern READMOST_THREAD_LOCAL thread_record* own_records[max_domains];
extern thread_record unregistered;

inline thread_record& my_record(unsigned domain = 0) noexcept {
  return *own_records[domain];
}

// Adds to a counter that only the calling thread writes.
inline void count_own(platform::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(platform::relaxed) + 1, platform::relaxed);
}

// An address with its bits mixed; the upper ones are the good ones (Fibonacci hashing).
inline std::uint64_t scattered(std::uintptr_t address) noexcept {
  return std::uint64_t{address} * 0x9E37'79B9'7F4A'7C15U;
}
inline std::uint64_t scattered(const void* address) noexcept {
  return scattered(reinterpret_cast<std::uintptr_t>(address));
}

// A slot spreads locks by address: a thread that takes several at once finds each in its own slot.
inline std::size_t home_slot(std::uintptr_t lock) noexcept {
  return static_cast<std::size_t>(scattered(lock) >> 61);
}
inline std::size_t home_slot(const void* lock) noexcept {
  return home_slot(reinterpret_cast<std::uintptr_t>(lock));
}
static_assert(held_slots == 1U << (64 - 61));

}  // namespace readmost::detail
