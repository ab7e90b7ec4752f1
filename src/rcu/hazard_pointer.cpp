// SPDX-License-Identifier: Apache-2.0
// Hazard pointers (Michael, IEEE TPDS 2004), with the reader's fence moved to the scan.
//
// Problem. A thread that protects stores a pointer in its slot and then checks that the object is
// still there; a thread that reclaims unlinks the object and then reads the slots. Neither may miss
// the other.
//
// Solution. The scan reaches consensus (consensus.cpp) between the two. The thread that stored a
// pointer in a slot then is in one of these cases.
//   It reports after that store: the scan sees the slot (HP6). Or it reports before the store, and
//     then sees the object unlinked.
//   It is covered by a membarrier: as the same two cases. If the membarrier comes between the
//     store and the load of the mode, or later, the slot is visible from then on. If it comes
//     before the store, the thread finds that it is no longer online, and comes online.
//   It comes online after the store, or cannot come online: it executes a full fence (F, HP3)
//     before it reads the object, and the scan executes one after the unlinking (K1). One of the
//     two fences comes first.
// A slot that moves to another thread keeps its content; the thread that stored it was in one of
// these cases.
//
// Slots are never unmapped, so a scan may read each at any time. The objects that a thread retires
// are on a list in its record; a scan takes the lists of all threads.
#include <algorithm>
#include <bit>
#include <readmost/detail/platform/bits.hpp>
#include <readmost/detail/rcu/hazard_slot.hpp>

#include "rcu/hazard_reclaimer.hpp"
#include "rcu/retired_queue.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

struct hazard_block {
  static constexpr std::uint32_t capacity = 64;

  alignas(platform::cache_line) platform::atomic<std::uint64_t> taken{};
  platform::variable<hazard_block*> next{};  // the block added before
  hazard_slot slots[capacity]{};
};

namespace {

// --- Slots ---------------------------------------------------------------------------------------

// Suffices for most programs, without mapping memory.
constinit hazard_block first_block;
platform::atomic<hazard_block*> last_added{&first_block};
// The number of slots taken in all blocks.
platform::atomic<std::uint32_t> slots_taken{0};

hazard_block* newest_block() noexcept {
  // (HP11) Pairs with (HP12).
  return last_added.load(at(letter::HP11, platform::acquire));
}

hazard_slot* take_from(hazard_block& block) noexcept {
  // (HP9) Pairs with (HP10): the slot is clear before it gets new content.
  const std::uint32_t number = take_bit(block.taken, at(letter::HP9, platform::acquire));
  if (number == no_bit) return nullptr;
  slots_taken.fetch_add(1, platform::relaxed);
  tools::happens_after(&block.taken);
  block.slots[number].in_block = &block;
  return &block.slots[number];
}

hazard_slot* add_block() noexcept {
  auto* const fresh = static_cast<hazard_block*>(platform::map_pages(sizeof(hazard_block)));
  if (fresh == nullptr) return nullptr;
  fresh->taken.store(1, platform::relaxed);
  fresh->slots[0].in_block = fresh;
  slots_taken.fetch_add(1, platform::relaxed);
  hazard_block* newest = last_added.load(platform::relaxed);
  do {
    fresh->next = newest;
    // (HP12) Pairs with (HP11): the block is complete, and so are those before it.
  } while (!last_added.compare_exchange_weak(newest, fresh, at(letter::HP12, platform::release),
                                             platform::relaxed));
  return &fresh->slots[0];
}

void free_slot(hazard_slot& slot) noexcept {
  hazard_block& block = *slot.in_block;
  const auto number = static_cast<std::uint32_t>(&slot - block.slots);
  slots_taken.fetch_sub(1, platform::relaxed);
  tools::happens_before(&block.taken);
  // (HP10) Pairs with (HP9), and with (HP8): a scan that finds the slot free happens after the use
  // of the object that it protected.
  give_back_bit(block.taken, number, at(letter::HP10, platform::release));
}

// Calls visit(object) for every protected object.
template <class Visit>
void for_each_protected(Visit visit) noexcept {
  for (hazard_block* block = newest_block(); block != nullptr; block = block->next) {
    // (HP8) Pairs with (HP10).
    std::uint64_t left = block->taken.load(at(letter::HP8, platform::acquire));
    tools::happens_after(&block->taken);
    for (; left != 0; left &= left - 1) {
      // (HP7) Pairs with (HP4), (HP1): a use under a protection that is over happens before this.
      const auto& slot = block->slots[__builtin_ctzll(left)].object;
      const retired* const object = slot.load(at(letter::HP7, platform::acquire));
      tools::happens_after(&slot);
      if (object != nullptr) visit(object);
    }
  }
}

// The slots that a thread keeps for reuse. A signal handler that interrupts their use uses none.
class spare_slots {
 public:
  explicit spare_slots(thread_record* owner) noexcept
      : store_(owner != nullptr && !owner->hazards.in_use ? &owner->hazards : nullptr) {
    if (store_ != nullptr) store_->in_use = true;
    platform::signal_fence();
  }
  ~spare_slots() {
    platform::signal_fence();
    if (store_ != nullptr) store_->in_use = false;
  }
  spare_slots(const spare_slots&) = delete;
  spare_slots& operator=(const spare_slots&) = delete;

  hazard_slot* take() noexcept {
    if (store_ == nullptr || store_->spares == 0) return nullptr;
    --store_->spares;
    return store_->spare[store_->spares];
  }
  bool keep(hazard_slot& slot) noexcept {
    if (store_ == nullptr || store_->spares == hazard_store::most_spares) return false;
    store_->spare[store_->spares] = &slot;
    ++store_->spares;
    return true;
  }

 private:
  hazard_store* store_;
};

// --- Retired objects -----------------------------------------------------------------------------

// The retired objects of threads without a record.
platform::atomic<retired*> unrecorded{};

struct amount {
  std::int64_t objects = 0;
  std::int64_t bytes = 0;

  void add(const retired& object) noexcept {
    ++objects;
    bytes += static_cast<std::int64_t>(object.kind->bytes);
  }
};

// What is on all lists, less what threads have not counted yet. A list that another thread takes
// before its owner has counted it makes the sum smaller until then.
platform::atomic<std::int64_t> waiting_objects{0};
platform::atomic<std::int64_t> waiting_bytes{0};

// A thread counts when it has so much that is not counted.
constexpr std::int64_t most_uncounted_objects = 16;
constexpr std::int64_t most_uncounted_bytes = 64 * 1024;

void count(const amount& what) noexcept {
  if (what.objects != 0) waiting_objects.fetch_add(what.objects, platform::relaxed);
  if (what.bytes != 0) waiting_bytes.fetch_add(what.bytes, platform::relaxed);
}

void count_all(hazard_store& store) noexcept {
  const amount mine{store.uncounted_objects, store.uncounted_bytes};
  store.uncounted_objects = 0;
  store.uncounted_bytes = 0;
  count(mine);
}

// Returns whether it has counted.
bool count_if_much(hazard_store& store) noexcept {
  if (store.uncounted_objects < most_uncounted_objects &&
      store.uncounted_bytes < most_uncounted_bytes) {
    return false;
  }
  count_all(store);
  return true;
}

// Puts the object on the list.
void keep(thread_record* me, retired& object) noexcept {
  amount one;
  one.add(object);  // before another thread may take and reclaim it
  if (me == nullptr) {
    push(unrecorded, object, letter::HP13);
    count(one);
    return;
  }
  push(me->hazards.latest, object, letter::HP13);
  me->hazards.uncounted_objects = me->hazards.uncounted_objects + one.objects;
  me->hazards.uncounted_bytes = me->hazards.uncounted_bytes + one.bytes;
}

// Puts `from` before `rest`; returns the whole list.
retired* joined(retired* from, retired* rest) noexcept {
  if (from == nullptr) return rest;
  retired* last = from;
  while (retired* const next = last->next) last = next;
  last->next = rest;
  return from;
}

retired* take_list(platform::atomic<retired*>& latest, retired* rest, amount& taken) noexcept {
  if (latest.load(platform::relaxed) == nullptr) return rest;
  // (HP14) Pairs with (HP13).
  retired* const list = latest.exchange(nullptr, at(letter::HP14, platform::acquire));
  tools::happens_after(&latest);
  retired* last = nullptr;
  for (retired* each = list; each != nullptr; each = each->next) {
    taken.add(*each);
    last = each;
  }
  if (last == nullptr) return rest;
  last->next = rest;
  return list;
}

// Takes the caller's list and that of threads without a record, or all lists.
retired* take_lists(thread_record* me, bool of_everybody) noexcept {
  retired* all = nullptr;
  amount taken;
  if (me != nullptr) all = take_list(me->hazards.latest, all, taken);
  if (of_everybody || me == nullptr) all = take_list(unrecorded, all, taken);
  if (of_everybody) {
    for_each_chunk(default_domain, [&](chunk& c) {
      for (std::uint64_t left = c.hazardous.load(platform::relaxed); left != 0; left &= left - 1) {
        all = take_list(c.records[__builtin_ctzll(left)].hazards.latest, all, taken);
      }
      return true;
    });
  }
  if (me == nullptr) {
    count({-taken.objects, -taken.bytes});
  } else {
    me->hazards.uncounted_objects = me->hazards.uncounted_objects - taken.objects;
    me->hazards.uncounted_bytes = me->hazards.uncounted_bytes - taken.bytes;
  }
  return all;
}

// --- When to scan --------------------------------------------------------------------------------

platform::atomic<std::int64_t> most_objects{hazard_backlog_limit{}.objects};
platform::atomic<std::int64_t> most_bytes{hazard_backlog_limit{}.bytes};
platform::atomic<std::int64_t> longest_pause{hazard_backlog_limit{}.nanoseconds};
platform::atomic<std::uint64_t> last_scan{0};
// What the last scan found protected. A scan would find them again.
platform::atomic<std::int64_t> protected_bytes{0};

// Twice as many objects as can be protected, so that a scan reclaims at least half of them.
bool is_above_limit(std::int64_t shift = 0) noexcept {
  const std::int64_t slots = slots_taken.load(platform::relaxed);
  const std::int64_t objects = std::max(most_objects.load(platform::relaxed), 2 * slots);
  if (waiting_objects.load(platform::relaxed) >> shift >= objects) return true;
  const std::int64_t kept = protected_bytes.load(platform::relaxed);
  const std::int64_t bytes = waiting_bytes.load(platform::relaxed) - kept;
  return bytes >> shift >= most_bytes.load(platform::relaxed);
}

bool is_long_since_last() noexcept {
  // Negative if another thread has scanned meanwhile.
  const auto pause = static_cast<std::int64_t>(platform::now() - last_scan.load(platform::relaxed));
  return pause >= longest_pause.load(platform::relaxed);
}

// The clock takes longer than a retirement, so most do not look at it.
bool is_scan_due(thread_record* me) noexcept {
  if (me == nullptr) return is_above_limit() || is_long_since_last();
  const auto uncounted = static_cast<std::uint64_t>(std::int64_t{me->hazards.uncounted_objects});
  return (count_if_much(me->hazards) && is_above_limit()) ||
         (std::has_single_bit(uncounted) && is_long_since_last());
}

// Who scans.
platform::atomic<reclaiming> reclaims{reclaiming::in_place};

// --- Forks ---------------------------------------------------------------------------------------

// While a child's memory is being copied, other threads go on retiring, so a list and its objects
// would be copied at different moments. The thread that forks therefore takes the lists before the
// fork. Scans keep the lists that they have taken, and stop meanwhile.

// The list that the calling thread took before its fork. Stores that it stopped refer to this
// variable.
READMOST_THREAD_LOCAL retired* taken_for_fork = nullptr;

void stop_scans() noexcept {
  for_each_record(default_domain, [](thread_record& record, bool is_used) {
    // A record without a thread scans nothing.
    if (!is_used || &record == &my_record()) return;
    hazard_store& store = record.hazards;
    if (store.moving.try_close()) store.stopped_by.store(&taken_for_fork, platform::relaxed);
  });
  taken_for_fork = take_lists(my_record_or_null(), true);
}

bool is_stopped_by_me(const hazard_store& store) noexcept {
  return store.stopped_by.load(platform::relaxed) == &taken_for_fork;
}

// Moves those objects to the list that every scan takes.
void put_back_what_was_taken() noexcept {
  retired* left = taken_for_fork;
  // First, so that no object is put back twice if a signal handler forks meanwhile.
  taken_for_fork = nullptr;
  while (left != nullptr) {
    retired& object = *left;
    left = object.next;
    keep(nullptr, object);
  }
}

void go_on_scanning() noexcept {
  // Includes the records of threads that have ended meanwhile: other threads may get their records.
  for_each_record(default_domain, [](thread_record& record, bool) {
    hazard_store& store = record.hazards;
    if (!is_stopped_by_me(store)) return;
    store.stopped_by.store(nullptr, platform::relaxed);
    store.moving.open();
  });
  put_back_what_was_taken();
}

// A thread may have been counting. Only the caller's list is left, and only where a signal handler
// forked, so the lists were not taken.
void recount_in_child() noexcept {
  amount mine;
  if (thread_record* const me = my_record_or_null()) {
    for (const retired* each = me->hazards.latest.load(platform::relaxed); each != nullptr;
         each = each->next) {
      mine.add(*each);
    }
  }
  waiting_objects.store(mine.objects, platform::relaxed);
  waiting_bytes.store(mine.bytes, platform::relaxed);
}

// The other threads do not exist in the child, and their records are free already. The lists of
// scans that were not stopped may be torn.
void go_on_in_child() noexcept {
  for_each_record(default_domain, [](thread_record& record, bool) {
    hazard_store& store = record.hazards;
    if (store.uncounted_objects != 0) store.uncounted_objects = 0;
    if (store.uncounted_bytes != 0) store.uncounted_bytes = 0;
    if (&record != &my_record()) {
      if (is_stopped_by_me(store)) taken_for_fork = joined(store.examined, taken_for_fork);
      if (store.examined != nullptr) store.examined = nullptr;
      clear_where_set(store.latest);
      if (store.in_use) store.in_use = false;
    }
    clear_where_set(store.stopped_by);
    store.moving.open_in_child();
  });
  unrecorded.store(nullptr, platform::relaxed);
  forget_hazard_reclaimer();
  recount_in_child();
  put_back_what_was_taken();
}

constinit part hazards_part{
    .before_fork = stop_scans, .in_parent = go_on_scanning, .in_child = go_on_in_child};

READMOST_EARLY void add_hazards_part() noexcept {
  if constexpr (platform::forks) add_part(hazards_part);
}

// --- The scan ------------------------------------------------------------------------------------

// Afterwards every slot that protects an object which the caller has taken is visible. The
// read-modify-write before (K1) is that of take_list().
void make_protected_visible(thread_record* me) noexcept {
  if (is_mutant(mutant::scan_without_consensus)) return;
  reach_consensus(default_domain, me);
  for_each_present(default_domain, [](const thread_record& record) {
    // (HP6) Pairs with (E2): sees every slot that the thread published before its report.
    static_cast<void>(record.seen.load(at(letter::HP6, platform::acquire)));
    return true;
  });
}

// The set of protected objects: a hash table in memory that the thread keeps. Without memory, or if
// more slots have been taken meanwhile than fit, each query reads all slots.
class protected_objects {
 public:
  explicit protected_objects(thread_record* me) noexcept {
    const std::size_t wanted =
        std::bit_ceil(std::size_t{4} * (slots_taken.load(platform::relaxed) + 4));
    if (!provide_table(me, wanted)) return;
    for (std::size_t i = 0; i < wanted; ++i) table_[i] = 0;
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(wanted));
    mask_ = wanted - 1;
    std::size_t noted = 0;
    for_each_protected([&](const retired* object) {
      if (++noted <= wanted / 2) entry_of(object) = address_of(object);
    });
    if (noted > wanted / 2) table_ = nullptr;
  }

  bool contains(const retired* object) noexcept {
    if (is_mutant(mutant::hazards_forgotten)) return false;
    if (table_ != nullptr) return entry_of(object) != 0;
    bool found = false;
    for_each_protected([&](const retired* each) { found = found || each == object; });
    return found;
  }

 private:
  static std::uintptr_t address_of(const retired* object) noexcept {
    return reinterpret_cast<std::uintptr_t>(object);
  }

  bool provide_table(thread_record* me, std::size_t entries) noexcept {
    if (me == nullptr) return false;
    hazard_store& store = me->hazards;
    if (store.table_entries < entries) {
      const std::size_t more = entries < smallest_table ? smallest_table : entries;
      void* const pages = platform::map_pages(more * sizeof(std::uintptr_t));
      if (pages == nullptr) return false;
      store.table = static_cast<std::uintptr_t*>(pages);
      store.table_entries = more;
    }
    table_ = store.table;
    return true;
  }

  // The entry of the object, or the free one where it belongs.
  std::uintptr_t& entry_of(const retired* object) noexcept {
    const std::uintptr_t address = address_of(object);
    std::size_t i = static_cast<std::size_t>(scattered(object) >> shift_);
    while (table_[i] != 0 && table_[i] != address) i = (i + 1) & mask_;
    return table_[i];
  }

  // One page.
  static constexpr std::size_t smallest_table = 512;

  std::uintptr_t* table_ = nullptr;
  unsigned shift_ = 0;
  std::size_t mask_ = 0;
};

// Marks the record, so that other threads' scans find its list.
void mark(thread_record& me) noexcept {
  const std::uint64_t mine = std::uint64_t{1} << number_of(me);
  auto& hazardous = chunk_of(me).hazardous;
  if ((hazardous.load(platform::relaxed) & mine) == 0) {
    hazardous.fetch_or(mine, platform::relaxed);
  }
}

// Whether the thread is in a scan. Deleters then retire without another scan, and note it.
READMOST_THREAD_LOCAL bool scanning = false;
READMOST_THREAD_LOCAL bool deleters_retired = false;

// Calls move() while no thread is forking.
template <class Move>
auto move_lists(thread_record* me, Move move) noexcept {
  if constexpr (platform::forks) {
    if (me != nullptr) {
      const closed_gate moving(me->hazards.moving);
      return move();
    }
  }
  return move();
}

// One pass of a scan; returns the bytes that it found protected.
std::int64_t examine(thread_record* me, bool of_everybody) noexcept {
  amount kept;
  // In the record, where the child of a fork finds it.
  platform::variable<retired*> own{};
  platform::variable<retired*>& left = me != nullptr ? me->hazards.examined : own;
  move_lists(me, [&] {
    left = READMOST_VARIANT(consensus_before_lists, take_lists(me, of_everybody),
                            (make_protected_visible(me), take_lists(me, of_everybody)));
  });
  if (left != nullptr) {
    if (!is_mutant(mutant::consensus_before_lists)) make_protected_visible(me);
    protected_objects is_protected(me);
    const auto next = [&] {
      retired* const object = left;
      if (object != nullptr) left = object->next;
      return object;
    };
    while (retired* const object = move_lists(me, next)) {
      if (is_protected.contains(object)) {
        kept.add(*object);
        keep(me, *object);
      } else {
        const retired_kind* const kind = object->kind;
        kind->reclaim(object);
      }
    }
  }
  return kept.bytes;
}

// The first pass takes the lists of all threads. The others take the thread's own, so they come to
// an end when its deleters retire no more, whatever other threads retire meanwhile.
void scan(thread_record* me) noexcept {
  if (scanning) return;
  scanning = true;
  // It may keep what other threads have retired.
  if (me != nullptr && !is_mutant(mutant::scan_keeps_unmarked)) mark(*me);
  last_scan.store(platform::now(), platform::relaxed);
  bool first = true;
  do {
    deleters_retired = false;
    const std::int64_t kept = examine(me, first);
    // A later pass sees again what the first one kept.
    protected_bytes.store(kept, platform::relaxed);
    first = false;
  } while (deleters_retired && !is_mutant(mutant::one_pass));
  if (me != nullptr) count_all(me->hazards);
  scanning = false;
}

}  // namespace

hazard_slot* take_hazard_slot() noexcept {
  if (hazard_slot* const spare = spare_slots(enlist()).take()) {
    // An earlier owner of the record may have used it.
    tools::happens_after(&spare->object);
    return spare;
  }
  for (hazard_block* block = newest_block(); block != nullptr; block = block->next) {
    if (hazard_slot* const slot = take_from(*block)) return slot;
  }
  return add_block();
}

void give_back_hazard_slot(hazard_slot& slot) noexcept {
  if (!spare_slots(my_record_or_null()).keep(slot)) free_slot(slot);
}

void confirm_protection() noexcept {
  thread_record* const me = enlist();
  if (me != nullptr && come_online(*me)) {
    if (default_domain.version.load(platform::relaxed) != me->seen.load(platform::relaxed)) {
      report(*me);
    }
    return;
  }
  if (is_mutant(mutant::hazard_without_fence)) return;
  // (HP3) The slot is stored before the caller reads the source. Pairs with (K1).
  platform::full_fence(letter::HP3);
}

void retire_hazardous(retired& object, const retired_kind& kind) noexcept {
  object.kind = &kind;
  thread_record* const me = enlist();
  add_hazards_part();
  if (me != nullptr) mark(*me);
  keep(me, object);
  if (scanning) {
    deleters_retired = true;
    return;
  }
  const bool due = is_scan_due(me);
  switch (reclaims.load(platform::relaxed)) {
    case reclaiming::in_place:
      if (due) scan(me);
      break;
    case reclaiming::in_background:
      tell_hazard_reclaimer(due);
      break;
    case reclaiming::on_request:
      break;
  }
}

bool is_hazardous_left() noexcept {
  if (unrecorded.load(platform::relaxed) != nullptr) return true;
  return !for_each_chunk(default_domain, [](chunk& c) {
    std::uint64_t left = c.hazardous.load(platform::relaxed);
    for (; left != 0; left &= left - 1) {
      const hazard_store& store = c.records[__builtin_ctzll(left)].hazards;
      if (store.latest.load(platform::relaxed) != nullptr) return false;
    }
    return true;
  });
}

bool is_hazardous_far_above_limit() noexcept {
  return is_above_limit(3);
}

std::int64_t hazardous_objects() noexcept {
  return waiting_objects.load(platform::relaxed);
}

std::uint64_t longest_pause_between_scans() noexcept {
  return static_cast<std::uint64_t>(longest_pause.load(platform::relaxed));
}

bool is_left_to_hazard_reclaimer() noexcept {
  return reclaims.load(platform::relaxed) == reclaiming::in_background && is_hazardous_left();
}

void hazard_pointer_reclaim_by(reclaiming who) noexcept {
  reclaims.store(who, platform::relaxed);
}

void hazard_pointer_clean_up() noexcept {
  scan(enlist());
}

void hazard_pointer_limit_backlog(hazard_backlog_limit limit) noexcept {
  const auto most = [](std::uint64_t n) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX));
  };
  most_objects.store(most(limit.objects), platform::relaxed);
  most_bytes.store(most(limit.bytes), platform::relaxed);
  longest_pause.store(most(limit.nanoseconds), platform::relaxed);
}

}  // namespace readmost::detail
