// The table of visible readers (BRAVO 3): where a thread says which lock it holds for reading,
// so that a lock needs no memory of its own for that. See bravo.hpp for the lock.
//
// A slot names the lock and the reader, so who releases finds its hold again without a token, and
// who locks again without asking anybody: no other thread changes a slot while a reader has it.
// Slots are never unmapped: a writer may look into each at any time.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// --- Slots --------------------------------------------------------------------------------------

// Free: 0. Held: the lock's address in 45 bits in the middle; in a slot that all threads share, the
// reader's number in the 16 above, and how often it holds the lock in the 3 below; in a slot of the
// reader's own, that count above.
using visible_slot = platform::atomic<std::uint64_t>;

inline constexpr unsigned number_shift = 48;
inline constexpr std::uint64_t highest_number = 0xFFFF;
inline constexpr std::uint64_t lock_in_slot = (std::uint64_t{1} << number_shift) - 8;

constexpr bool names(std::uint64_t slot, std::uint64_t lock) noexcept {
  return (slot & lock_in_slot) == lock;
}

// --- Readers ------------------------------------------------------------------------------------

inline constexpr std::size_t slots_in_line = platform::cache_line / sizeof(visible_slot);

// Slots that one thread has for itself: it publishes there by plain stores.
struct alignas(platform::cache_line) own_slots {
  visible_slot slot[slots_in_line]{};
};

// What a thread knows of itself as a reader. Nobody else looks into it.
struct visible_reader {
  // Whose number it is: the calling thread's in the default domain. Otherwise all of this is void.
  const thread_record* record;
  const thread_record* refused;  // its number is too high, or there was no memory
  std::uint64_t number;          // shifted to its place in a slot; not 0
  own_slots* own;
  std::uint32_t mixed_number;
  // Slots that this thread holds. Counted before it takes one and after it has released one, for
  // signal handlers.
  std::uint32_t holds;
  // Among these such as are not where they are looked for first: see bravo::nest_elsewhere().
  std::uint32_t holds_elsewhere;
  // Of all slow reads, for policies that look at some only.
  std::uint32_t slow_reads;
  // By eighths of the locks, for policies that weigh: slow reads until the next account, and which
  // lock was last read through a slot, so often.
  std::uint32_t until_account[8];
  std::uint64_t lock_read[8];
  std::uint32_t reads[8];
};

extern READMOST_THREAD_LOCAL visible_reader this_reader;

// Null for a thread that is not known as a reader, not yet or, at its exit, not any more.
inline visible_reader* known_reader() noexcept {
  visible_reader& reader = this_reader;
  return reader.record == own_records[0] ? &reader : nullptr;
}

// Makes the calling thread known. Null when it is exiting, when there is no memory or when there
// are more than 65,535 threads.
[[gnu::cold]] visible_reader* introduce_reader() noexcept;

// Mix32 of SplittableRandom (Steele, Lea, Flood, OOPSLA 2014), the paper's hash: all bits of the
// result depend on all of the argument.
constexpr std::uint32_t mix32(std::uint64_t z) noexcept {
  z = (z ^ (z >> 33)) * 0x62A9'D9ED'7997'05F5U;
  z = (z ^ (z >> 28)) * 0xCB24'D0A5'C88C'35B3U;
  return static_cast<std::uint32_t>(z >> 32);
}

// --- Scans --------------------------------------------------------------------------------------

// How a scan compares: slot by slot, or several at once.
enum class scan_with : std::uint8_t { scalar, sse2, avx2, avx512, neon };
bool is_available(scan_with kernel) noexcept;
// The fastest here; found out once.
scan_with best_scan() noexcept;

// The first slot from `from` on, of `count`, that names the lock, or `count`. Behind the sections
// of all readers whose slots it found to be free of the lock. `count` is a multiple of 8.
std::size_t find_hold(const visible_slot* slots, std::size_t from, std::size_t count,
                      std::uint64_t lock, scan_with kernel) noexcept;

// --- Tables -------------------------------------------------------------------------------------

struct slot_array {
  platform::variable<visible_slot*> slots{};
  platform::variable<std::uint32_t> mask{};  // how many, a power of two, less one
  platform::variable<slot_array*> older{};
};

// A table that grows: readers use the newest array, scans visit all, none is ever unmapped.
class growing_table {
 public:
  // The first array; the others are twice as large as the one before, up to `most` slots. It grows
  // once as many readers as it has slots have found theirs taken, within 10 ms.
  constexpr growing_table(slot_array& first, std::uint32_t most) noexcept
      : newest_(&first), most_(most) {}

  const slot_array& newest() const noexcept {
    // (BR13) Pairs with (BR14): the array is filled, and so are those before it.
    return *newest_.load(at(letter::BR13, platform::acquire));
  }

  // A reader has found its slot taken by another.
  [[gnu::cold]] void note_collision() noexcept;
  // Makes the newest array at least so large, if there is memory.
  [[gnu::cold]] void grow_to(std::uint32_t slots) noexcept;
  // In a fork's child: nobody does.
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

// What a policy names as its table. Each tells where the slots are, to readers (`newest`) and to
// writers (`for_each_array`, until visit() is false).
struct slots_now {
  visible_slot* slots;
  std::uint32_t mask;
};

inline constexpr std::uint32_t slots_of_the_paper = 4096;
extern visible_slot paper_slots[slots_of_the_paper];

// The paper's: 4096 slots for all locks of the process.
struct shared_table_of_4096 {
  static slots_now newest() noexcept { return {paper_slots, slots_of_the_paper - 1}; }
  template <class Visit>
  static bool for_each_array(Visit visit) noexcept {
    return visit(paper_slots, slots_of_the_paper);
  }
  static void note_collision() noexcept {}
};

// One of those that grow.
template <growing_table& Table>
struct table_that_grows {
  static slots_now newest() noexcept {
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

// For all locks of the process: 256 slots per CPU at first, 1024 at most.
extern growing_table process_table;
using shared_growing_table = table_that_grows<process_table>;

// For one lock alone: large locks that disturb no other (the ideal in BRAVO, Fig. 1). Not told
// of forks.
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

// Brings about that each thread that published in its own slots before either is seen there, or
// sees what the caller wrote before (with a read-modify-write): consensus
// (src/threads/consensus.cpp). Returns how long that took, in nanoseconds.
std::uint64_t make_own_slots_visible() noexcept;

bool visit_own_slots(bool (*visit)(void* context, visible_slot* slots, std::size_t count),
                     void* context) noexcept;

// Calls visit(slots, count) for the own slots of each thread, until it returns false; then returns
// that.
template <class Visit>
bool for_each_own_slots(Visit visit) noexcept {
  return visit_own_slots(
      [](void* context, visible_slot* slots, std::size_t count) {
        return (*static_cast<Visit*>(context))(slots, count);
      },
      &visit);
}

// --- Waiting ------------------------------------------------------------------------------------

// The wait of one revocation: spins, then yields, then sleeps for longer and longer, up to a
// millisecond, and reports meanwhile to writers that wait for this thread.
class departure_wait {
 public:
  void turn() noexcept;

 private:
  std::uint32_t turns_ = 0;
};

}  // namespace readmost::detail
