// SPDX-License-Identifier: Apache-2.0
// The table of visible readers: registering readers, growing, scanning.
#include <readmost/detail/bravo/visible_readers.hpp>

#include "platform/tools.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

#if !defined(READMOST_SIMULATED) && !defined(READMOST_THREAD_SANITIZER)
#if defined(__x86_64__)
#include <immintrin.h>
#define READMOST_X86_SCANS
#elif defined(__aarch64__)
#include <arm_neon.h>
#define READMOST_NEON_SCANS
#endif
#endif

namespace readmost::detail {

namespace {

constexpr std::uint32_t slots_per_cpu = 256;
constexpr std::uint32_t fewest_slots = 512;
constexpr std::uint32_t most_slots_per_cpu = 1024;

alignas(platform::cache_line) constinit visible_slot first_slots[fewest_slots]{};
constinit slot_array first_array{first_slots, fewest_slots - 1, nullptr};

platform::atomic<std::uint32_t> prepared{0};

// --- Own slots ----------------------------------------------------------------------------------

// Of the threads of one chunk of records.
struct own_block {
  own_slots of_record[chunk::capacity];
};
constexpr std::uint64_t most_chunks = (highest_number + 1) / chunk::capacity;
platform::atomic<own_block*> own_blocks[most_chunks]{};

own_block* make_block(std::uint64_t which) noexcept {
  own_block* known = own_blocks[which].load(platform::relaxed);
  if (known != nullptr) return known;
  auto* const fresh = static_cast<own_block*>(platform::map_pages(sizeof(own_block)));
  if (fresh == nullptr) return nullptr;
  // Relaxed: the pages contain only zeros, which every thread sees. The loser of a race leaves its
  // pages unused.
  return own_blocks[which].compare_exchange_strong(known, fresh, platform::relaxed) ? fresh : known;
}

// --- Readers ------------------------------------------------------------------------------------

// In the child of a fork: removes the holds of readers that are not there.
void keep_own_holds() noexcept {
  const visible_reader* const me = known_reader();
  const std::uint64_t mine = me != nullptr ? me->number : 0;
  const auto keep = [mine](visible_slot* slots, std::uint32_t count) {
    constexpr std::uint64_t numbers = highest_number << number_shift;
    for (std::uint32_t i = 0; i < count; ++i) {
      if ((slots[i].load(platform::relaxed) & numbers) != mine) {
        slots[i].store(0, platform::relaxed);
      }
    }
    return true;
  };
  shared_table_of_4096::for_each_array(keep);
  shared_growing_table::for_each_array(keep);
  // Another thread may have been making it grow.
  process_table.stop_growing();
  prepared.store(0, platform::relaxed);
  for (const auto& each : own_blocks) {
    own_block* const block = each.load(platform::relaxed);
    if (block == nullptr) continue;
    for (own_slots& slots : block->of_record) {
      if (me != nullptr && &slots == me->own) continue;
      for (visible_slot& slot : slots.slot) slot.store(0, platform::relaxed);
    }
  }
}

constinit part visible_readers_part{.in_child = keep_own_holds};

READMOST_EARLY void add_visible_readers_part() noexcept {
  if constexpr (platform::forks) add_part(visible_readers_part);
}

// Called by each new reader; acts once.
void prepare() noexcept {
  if (prepared.exchange(1, platform::relaxed) != 0) return;
  add_visible_readers_part();
  const std::uint32_t cpus = std::bit_ceil(platform::usable_cpus());
  process_table.limit_to(most_slots_per_cpu * cpus);
  process_table.grow_to(slots_per_cpu * cpus);
}

}  // namespace

READMOST_THREAD_LOCAL constinit visible_reader this_reader{};

alignas(platform::cache_line) constinit visible_slot paper_slots[slots_of_the_paper]{};

constinit growing_table process_table{first_array, fewest_slots};

visible_reader* introduce_reader() noexcept {
  if (visible_reader* const known = known_reader()) return known;
  thread_record* const record = enlist();
  visible_reader& me = this_reader;
  if (record == nullptr || record == me.refused) return nullptr;
  const std::uint64_t number = number_in_domain(*record) + 1;
  const std::uint64_t which = (number - 1) / chunk::capacity;
  own_block* const block = which < most_chunks ? make_block(which) : nullptr;
  if (block == nullptr || number > highest_number) {
    me.refused = record;
    return nullptr;
  }
  prepare();
  me.number = number << number_shift;
  me.mixed_number = mix32(number);
  me.own = &block->of_record[number_of(*record)];
  // Those of an earlier owner of the record.
  for (const visible_slot& slot : me.own->slot) tools::happens_after(&slot);
  // Last: from here on a signal handler relies on the rest.
  platform::signal_fence();
  me.record = record;
  return &me;
}

// --- Tables that grow ---------------------------------------------------------------------------

void growing_table::note_collision() noexcept {
  const std::uint32_t slots = newest().mask + 1U;
  if (collisions_.fetch_add(1, platform::relaxed) + 1 < slots) return;
  const std::uint64_t present = platform::now();
  const bool often = present - since_.exchange(present, platform::relaxed) < window;
  collisions_.store(0, platform::relaxed);
  if (often) grow_to(2 * slots);
}

void growing_table::grow_to(std::uint32_t slots) noexcept {
  if (slots > most_.load(platform::relaxed)) return;
  if (growing_.exchange(1, platform::relaxed) != 0) return;
  slot_array* newest = newest_.load(at(letter::BR13, platform::acquire));
  if (newest->mask + 1U < slots) {
    constexpr std::size_t header = platform::cache_line;
    static_assert(sizeof(slot_array) <= header);
    void* const pages = platform::map_pages(header + slots * sizeof(visible_slot));
    if (pages != nullptr) {
      auto* const fresh = static_cast<slot_array*>(pages);
      fresh->slots = reinterpret_cast<visible_slot*>(static_cast<char*>(pages) + header);
      fresh->mask = slots - 1;
      fresh->older = newest;
      // (BR14) Pairs with (BR13): the array is complete, and so are those before it.
      newest_.compare_exchange_strong(newest, fresh, at(letter::BR14, platform::release),
                                      platform::relaxed);
    }
  }
  growing_.store(0, platform::relaxed);
}

// --- Own slots ----------------------------------------------------------------------------------

std::uint64_t make_own_slots_visible() noexcept {
  if (is_mutant(mutant::bravo_without_consensus)) return 0;
  const round of = reach_consensus(default_domain, my_record_or_null());
  for_each_present(default_domain, [](const thread_record& record) {
    // (BR17) Pairs with (E2): sees every slot that the thread published before its report.
    static_cast<void>(record.seen.load(at(letter::BR17, platform::acquire)));
    return true;
  });
  return of.nanoseconds;
}

bool visit_own_slots(bool (*visit)(void* context, visible_slot* slots, std::size_t count),
                     void* context) noexcept {
  bool visited_all = true;
  std::uint64_t which = 0;
  for_each_chunk(default_domain, [&](const chunk& c) {
    if (which == most_chunks) return false;
    own_block* const block = own_blocks[which++].load(platform::relaxed);
    if (block == nullptr) return true;
    // (BR18) Pairs with (R7): the sections of a thread that has given its record back happen before
    // this.
    for (std::uint64_t left = c.used.load(at(letter::BR18, platform::acquire)); left != 0;
         left &= left - 1) {
      visited_all = visit(context, block->of_record[__builtin_ctzll(left)].slot, slots_in_line);
      if (!visited_all) return false;
    }
    return true;
  });
  return visited_all;
}

// --- Scans --------------------------------------------------------------------------------------

namespace {

std::size_t find_scalar(const visible_slot* slots, std::size_t from, std::size_t count,
                        std::uint64_t lock) noexcept {
  constexpr std::size_t fetched_ahead = 16 * slots_in_line;
  for (; from < count; ++from) {
    if (from % slots_in_line == 0 && from + fetched_ahead < count) {
      platform::prefetch(slots + from + fetched_ahead);
    }
    // (BR10) Pairs with (BR7) and with the stores that may be read instead: the sections of all
    // readers that have left happen before this.
    if (names(slots[from].load(at(letter::BR10, platform::acquire)), lock)) return from;
  }
  return count;
}

#if defined(READMOST_X86_SCANS) || defined(READMOST_NEON_SCANS)

// The number of slots that a vector loop compares between two branches.
constexpr std::size_t at_a_time = 32;

// Other threads write the slots that the loops below read. Each element of a vector is a slot and
// is loaded whole; the compiler must not reuse it in the next scan.
template <bool (*AnyNames)(const visible_slot*, std::uint64_t)>
std::size_t find_by(const visible_slot* slots, std::size_t from, std::size_t count,
                    std::uint64_t lock) noexcept {
  std::size_t i = from;
  // The rest of a group that was scanned in part.
  const std::size_t aligned = (from + at_a_time - 1) / at_a_time * at_a_time;
  if (aligned != from || count < at_a_time) {
    const std::size_t end = aligned < count ? aligned : count;
    i = find_scalar(slots, from, end, lock);
    if (i < end) return i;
  }
  for (; i + at_a_time <= count; i += at_a_time) {
    if (!AnyNames(slots + i, lock)) continue;
    const std::size_t found = find_scalar(slots, i, i + at_a_time, lock);
    // The reader may have left since.
    if (found < i + at_a_time) return found;
  }
  i = find_scalar(slots, i, count, lock);
  // As (BR10).
  platform::acquire_fence();
  return i;
}

#endif

#if defined(READMOST_X86_SCANS)

// Halves of 32 bits, which SSE2 can compare.
bool any_names_sse2(const visible_slot* slots, std::uint64_t lock) noexcept {
  const __m128i mask = _mm_set1_epi64x(static_cast<long long>(lock_in_slot));
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(lock));
  const auto* at = reinterpret_cast<const __m128i*>(slots);
  __m128i any = _mm_setzero_si128();
  for (std::size_t i = 0; i < at_a_time / 2; ++i) {
    const __m128i halves = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(at + i), mask), wanted);
    any = _mm_or_si128(any, _mm_and_si128(halves, _mm_shuffle_epi32(halves, 0xB1)));
  }
  return _mm_movemask_epi8(any) != 0;
}

[[gnu::target("avx2")]] bool any_names_avx2(const visible_slot* slots,
                                            std::uint64_t lock) noexcept {
  const __m256i mask = _mm256_set1_epi64x(static_cast<long long>(lock_in_slot));
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(lock));
  const auto* at = reinterpret_cast<const __m256i*>(slots);
  __m256i any = _mm256_setzero_si256();
  for (std::size_t i = 0; i < at_a_time / 4; ++i) {
    any = _mm256_or_si256(
        any, _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_load_si256(at + i), mask), wanted));
  }
  return _mm256_movemask_epi8(any) != 0;
}

[[gnu::target("avx512f")]] bool any_names_avx512(const visible_slot* slots,
                                                 std::uint64_t lock) noexcept {
  const __m512i mask = _mm512_set1_epi64(static_cast<long long>(lock_in_slot));
  const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(lock));
  const auto* at = reinterpret_cast<const __m512i*>(slots);
  unsigned any = 0;
  for (std::size_t i = 0; i < at_a_time / 8; ++i) {
    any |= _mm512_cmpeq_epi64_mask(_mm512_and_si512(_mm512_load_si512(at + i), mask), wanted);
  }
  return any != 0;
}

#elif defined(READMOST_NEON_SCANS)

bool any_names_neon(const visible_slot* slots, std::uint64_t lock) noexcept {
  const uint64x2_t mask = vdupq_n_u64(lock_in_slot);
  const uint64x2_t wanted = vdupq_n_u64(lock);
  const auto* at = reinterpret_cast<const std::uint64_t*>(slots);
  uint64x2_t any = vdupq_n_u64(0);
  for (std::size_t i = 0; i < at_a_time; i += 2) {
    any = vorrq_u64(any, vceqq_u64(vandq_u64(vld1q_u64(at + i), mask), wanted));
  }
  return (vgetq_lane_u64(any, 0) | vgetq_lane_u64(any, 1)) != 0;
}

#endif

}  // namespace

bool is_available(scan_with kernel) noexcept {
  switch (kernel) {
    case scan_with::scalar:
      return true;
#if defined(READMOST_X86_SCANS)
    case scan_with::sse2:
      return true;
    case scan_with::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case scan_with::avx512:
      return __builtin_cpu_supports("avx512f") != 0;
#elif defined(READMOST_NEON_SCANS)
    case scan_with::neon:
      return true;
#endif
    default:
      return false;
  }
}

scan_with best_scan() noexcept {
#if defined(READMOST_X86_SCANS)
  static platform::atomic<std::uint32_t> known{0};
  std::uint32_t best = known.load(platform::relaxed);
  if (best == 0) [[unlikely]] {
    const scan_with kernel = is_available(scan_with::avx512) ? scan_with::avx512
                             : is_available(scan_with::avx2) ? scan_with::avx2
                                                             : scan_with::sse2;
    best = static_cast<std::uint32_t>(kernel);
    known.store(best, platform::relaxed);
  }
  return static_cast<scan_with>(best);
#elif defined(READMOST_NEON_SCANS)
  return scan_with::neon;
#else
  return scan_with::scalar;
#endif
}

namespace {

std::size_t find_by_kernel(const visible_slot* slots, std::size_t from, std::size_t count,
                           std::uint64_t lock, scan_with kernel) noexcept {
  switch (kernel) {
#if defined(READMOST_X86_SCANS)
    case scan_with::sse2:
      return find_by<any_names_sse2>(slots, from, count, lock);
    case scan_with::avx2:
      return find_by<any_names_avx2>(slots, from, count, lock);
    case scan_with::avx512:
      return find_by<any_names_avx512>(slots, from, count, lock);
#elif defined(READMOST_NEON_SCANS)
    case scan_with::neon:
      return find_by<any_names_neon>(slots, from, count, lock);
#endif
    default:
      return find_scalar(slots, from, count, lock);
  }
}

}  // namespace

std::size_t find_hold(const visible_slot* slots, std::size_t from, std::size_t count,
                      std::uint64_t lock, scan_with kernel) noexcept {
  const std::size_t found = find_by_kernel(slots, from, count, lock, kernel);
  if (tools::are_present()) {
    for (std::size_t i = from; i < found; ++i) tools::happens_after(slots + i);
  }
  return found;
}

// --- Waiting ------------------------------------------------------------------------------------

void departure_wait::turn() noexcept {
  constexpr std::uint32_t spins = 200;
  constexpr std::uint32_t yields = 100;
  constexpr std::uint64_t shortest_sleep = 16'000;
  constexpr std::uint32_t doublings = 6;
  const std::uint32_t turn = turns_;
  if (turn < platform::spins(spins)) {
    ++turns_;
    report_if_asked();
    platform::relax();
    return;
  }
  const std::uint32_t later = turn - platform::spins(spins);
  if (later < platform::spins(yields)) {
    ++turns_;
    report_if_asked();
    platform::yield();
    return;
  }
  go_offline();
  const std::uint32_t slept = later - platform::spins(yields);
  if (slept < doublings) ++turns_;
  platform::sleep_for(shortest_sleep << slept);
}

}  // namespace readmost::detail
