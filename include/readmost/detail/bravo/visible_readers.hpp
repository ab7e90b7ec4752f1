// SPDX-License-Identifier: Apache-2.0
// The table of visible readers (BRAVO 3): threads note there the locks that they hold for reading,
// so that a lock needs no memory of its own for that. The lock is in bravo.hpp.
//
// A slot names the lock and the reader. So a thread that unlocks, or locks again, finds its hold
// without a token: no other thread changes a slot while a reader holds it. Slots are never
// unmapped: a writer may read each at any time.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// --- Slots --------------------------------------------------------------------------------------

// Free: 0. Held: the middle 45 bits are the lock's address. In a slot that all threads share, the
// upper 16 bits are the reader's number and the lower 3 count its holds of the lock; in a slot of
// the reader's own, the upper 16 bits count its holds.
using visible_slot = platform::atomic<std::uint64_t>;

inline constexpr unsigned number_shift = 48;
inline constexpr std::uint64_t highest_number = 0xFFFF;
inline constexpr std::uint64_t lock_in_slot = (std::uint64_t{1} << number_shift) - 8;

constexpr bool names(std::uint64_t slot, std::uint64_t lock) noexcept {
  return (slot & lock_in_slot) == lock;
}

// --- Readers ------------------------------------------------------------------------------------

inline constexpr std::size_t slots_in_line = platform::cache_line / sizeof(visible_slot);

// Slots of one thread, which publishes there by plain stores.
struct alignas(platform::cache_line) own_slots {
  visible_slot slot[slots_in_line]{};
};

// State of a thread as a reader; accessed only by that thread.
struct visible_reader {
  // The thread's record in the default domain, to which the number belongs. If it is another, the
  // rest of this state is not valid.
  const thread_record* record;
  const thread_record* refused;  // a record whose number is too high, or lacks memory for slots
  std::uint64_t number;          // shifted to its position in a slot; not 0
  own_slots* own;
  std::uint32_t mixed_number;
  // The number of slots that this thread holds. Raised before it takes one and lowered after it has
  // released one, for signal handlers.
  std::uint32_t holds;
  // Those of them that are not in a usual place: see basic_bravo::nest_elsewhere().
  std::uint32_t holds_elsewhere;
  // All slow reads, for policies that consider only some of them.
  std::uint32_t slow_reads;
  // For policies that keep an account, by eighths of the locks: slow reads until the next
  // accounting, the lock that was last read through a slot, and the number of those reads.
  std::uint32_t until_account[8];
  std::uint64_t lock_read[8];
  std::uint32_t reads[8];
};

extern READMOST_THREAD_LOCAL visible_reader this_reader;

// Null for a thread that is not known as a reader: not yet, or at its exit no longer.
inline visible_reader* known_reader() noexcept {
  visible_reader& reader = this_reader;
  return reader.record == own_records[0] ? &reader : nullptr;
}

// Makes the calling thread known as a reader. Returns null if it is exiting, if there is no memory,
// or if there are more than 65,535 threads.
[[gnu::cold]] visible_reader* introduce_reader() noexcept;

// Mix32 of SplittableRandom (Steele, Lea, Flood, OOPSLA 2014), the paper's hash: all bits of the
// result depend on all of the argument.
constexpr std::uint32_t mix32(std::uint64_t z) noexcept {
  z = (z ^ (z >> 33)) * 0x62A9'D9ED'7997'05F5U;
  z = (z ^ (z >> 28)) * 0xCB24'D0A5'C88C'35B3U;
  return static_cast<std::uint32_t>(z >> 32);
}

// --- Scans --------------------------------------------------------------------------------------

// The instructions by which a scan compares slots: one by one, or several at once.
enum class scan_with : std::uint8_t { scalar, sse2, avx2, avx512, neon };
bool is_available(scan_with kernel) noexcept;
// The fastest on this processor; determined once.
scan_with best_scan() noexcept;

// Returns the first slot from `from` on that names the lock, or `count`. Acquires: the sections of
// readers whose slots no longer name the lock happen before the return. `count` is a multiple of 8.
std::size_t find_hold(const visible_slot* slots, std::size_t from, std::size_t count,
                      std::uint64_t lock, scan_with kernel) noexcept;

// --- Tables -------------------------------------------------------------------------------------

struct slot_array {
  platform::variable<visible_slot*> slots{};
  platform::variable<std::uint32_t> mask{};  // their number, a power of two, minus 1
  platform::variable<slot_array*> older{};
};

// A table that grows: readers use the newest array, scans visit all of them; none is ever unmapped.
class growing_table {
 public:
  // Each array is twice as large as the one before, up to `most` slots. The table grows when,
  // within 10 ms, as many readers have found their slot taken as the newest array has slots.
  constexpr growing_table(slot_array& first, std::uint32_t most) noexcept
      : newest_(&first), most_(most) {}

  const slot_array& newest() const noexcept {
    // (BR13) Pairs with (BR14): the array is complete, and so are those before it.
    return *newest_.load(at(letter::BR13, platform::acquire));
  }

  // Called when a reader finds its slot taken by another.
  [[gnu::cold]] void note_collision() noexcept;
  // Adds arrays until the newest is at least that large, if there is memory.
  [[gnu::cold]] void grow_to(std::uint32_t slots) noexcept;
  // In the child of a fork: the thread that made it grow does not exist there.
  void stop_growing() noexcept { growing_.store(0, platform::relaxed); }
  void limit_to(std::uint32_t most) noexcept { most_.store(most, platform::relaxed); }

 private:
  static constexpr std::uint64_t window = 10'000'000;

  platform::atomic<slot_array*> newest_;
  platform::atomic<std::uint32_t> most_;
  platform::atomic<std::uint32_t> growing_{0};
  platform::atomic<std::uint32_t> collisions_{0};
  platform::atomic<std::uint64_t> since_{0};
};

// The tables that a policy may name. Each has the slots for readers (`newest`) and for writers
// (`for_each_array`, which stops when visit() returns false).
struct slots_now {
  visible_slot* slots;
  std::uint32_t mask;
};

inline constexpr std::uint32_t slots_of_the_paper = 4096;
extern visible_slot paper_slots[slots_of_the_paper];

// The paper's table: 4096 slots for all locks of the process.
struct shared_table_of_4096 {
  static slots_now newest() noexcept { return {paper_slots, slots_of_the_paper - 1}; }
  template <class Visit>
  static bool for_each_array(Visit visit) noexcept {
    return visit(paper_slots, slots_of_the_paper);
  }
  static void note_collision() noexcept {}
};

// A table that grows.
template <growing_table& Table>
struct table_that_grows {
  // On every reader's path.
  [[gnu::always_inline]] static slots_now newest() noexcept {
    const slot_array& newest = Table.newest();
    return {newest.slots, newest.mask};
  }
  template <class Visit>
  static bool for_each_array(Visit visit) noexcept {
    for (const slot_array* each = &Table.newest(); each != nullptr; each = each->older) {
      if (!visit(static_cast<visible_slot*>(each->slots), each->mask + 1U)) return false;
      if (is_mutant(mutant::bravo_scans_newest_alone)) break;
    }
    return true;
  }
  static void note_collision() noexcept { Table.note_collision(); }
};

// The table of the process: 256 slots per CPU at first, 1024 at most.
extern growing_table process_table;
using shared_growing_table = table_that_grows<process_table>;

// A table of one lock: large locks that do not disturb each other (the ideal in BRAVO, Fig. 1). Not
// notified of forks.
template <std::uint32_t Slots = slots_of_the_paper>
class private_table {
 public:
  static_assert(Slots % slots_in_line == 0 && (Slots & (Slots - 1)) == 0);
  slots_now newest() noexcept { return {slots_, Slots - 1}; }
  template <class Visit>
  bool for_each_array(Visit visit) noexcept {
    return visit(slots_, Slots);
  }
  static void note_collision() noexcept {}

 private:
  alignas(platform::cache_line) visible_slot slots_[Slots]{};
};

// --- Own slots ----------------------------------------------------------------------------------

// Reaches consensus (src/threads/consensus.cpp): afterwards each thread that publishes in its own
// slots is either visible there or sees the caller's earlier writes (by a read-modify-write).
// Returns the nanoseconds that it took.
std::uint64_t make_own_slots_visible() noexcept;

bool visit_own_slots(bool (*visit)(void* context, visible_slot* slots, std::size_t count),
                     void* context) noexcept;

// Calls visit(slots, count) for the own slots of each thread until it returns false; returns
// whether it never did.
template <class Visit>
bool for_each_own_slots(Visit visit) noexcept {
  return visit_own_slots(
      [](void* context, visible_slot* slots, std::size_t count) {
        return (*static_cast<Visit*>(context))(slots, count);
      },
      &visit);
}

// --- Waiting ------------------------------------------------------------------------------------

// Back-off of a revocation: spins, then yields, then sleeps for longer and longer, up to a
// millisecond. Reports meanwhile, so that no writer waits for this thread.
class departure_wait {
 public:
  void turn() noexcept;

 private:
  std::uint32_t turns_ = 0;
};

}  // namespace readmost::detail
