// The holds, claims and waits of a thread that exits, or that does not exist in a fork's child.
#include "lock/holds.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// Whether the lock's memory is not there: a thread that exits held a lock that the program has
// freed, or a fork's child has not inherited it (MADV_DONTFORK).
bool is_absent(const rwlock& lock) noexcept {
  return platform::is_unmapped(&lock, sizeof lock);
}

// Counts the passive holds of a thread that exits, or does not exist in a fork's child, in their
// locks, where another thread can release them.
void count_holds(thread_record& record) noexcept {
  for_each_slot(record, [](auto& slot) {
    std::uintptr_t held = slot.load(platform::relaxed);
    // Those that were moved stay, for the next owner: see clear_moved_holds().
    if (!is_passive_hold(held)) return;
    auto& lock = *reinterpret_cast<rwlock*>(held);
    if (is_absent(lock) || is_mutant(mutant::exit_drops_holds)) {
      slot.store(0, platform::relaxed);
      return;
    }
    // First counted, then cleared (D): a writer that scans (L) and then counts (K2) sees the hold
    // in at least one place. The compare-and-swap fails if another thread has moved the hold to the
    // count meanwhile.
    lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
    if (!slot.compare_exchange_strong(held, 0, at(letter::D, platform::release),
                                      platform::relaxed) &&
        !is_mutant(mutant::counts_moved_holds)) {
      release_counted_hold(lock);
    }
  });
}

// Lets the next owner of the record begin without holds.
void forget_holds(thread_record& record) noexcept {
  record.nested.store(0, platform::relaxed);
  for (auto& slot : record.nested_held) {
    if ((slot.load(platform::relaxed) & moved_hold) == 0) slot.store(0, platform::relaxed);
  }
  for (auto& note : record.noted) note = 0;
  record.unnoted = 0;
}

// In a fork's child: the lock that a record of a thread which is gone names, and which is the
// child's own; else null. The parent's threads go on with a lock that the two share.
rwlock* abandoned_lock(std::uintptr_t named) noexcept {
  auto* lock = reinterpret_cast<rwlock*>(named & ~waits_as_mask);
  return lock == nullptr || is_absent(*lock) ||
                 platform::kind_of_mapping(lock) == platform::mapping_kind::shared_memory
             ? nullptr
             : lock;
}

// In a fork's child: takes back an undecided claim, whose writer is gone and has never been inside,
// and takes the thread out of the waiters of its lock.
void undo_claim_and_wait(thread_record& record) noexcept {
  if (rwlock* lock = abandoned_lock(record.deciding.load(platform::relaxed))) {
    const std::uint64_t state = lock->state.load(platform::relaxed);
    if ((state & rwlock::claiming) != 0) {
      lock->state.store((state & ~rwlock::claiming) | rwlock::draining, platform::relaxed);
    }
  }
  const std::uintptr_t waiting = record.waiting_in.load(platform::relaxed);
  if (is_mutant(mutant::fork_keeps_waiters)) return;
  if (rwlock* lock = abandoned_lock(waiting)) {
    const auto as = static_cast<waits_as>(waiting & waits_as_mask);
    std::uint64_t state = rwlock::without_waiter(lock->state.load(platform::relaxed), as);
    // A counted writer may have asked to be next.
    if (as == waits_as::writer) state &= ~rwlock::handoff;
    lock->state.store(state, platform::relaxed);
  }
  clear_where_set(record.deciding);
  clear_where_set(record.waiting_in);
}

}  // namespace

constinit part holds_part{.on_enlist = clear_moved_holds,
                          .on_exit = count_holds,
                          .on_departure = forget_holds,
                          .in_child = [] {
                            for_each_orphan([](thread_record& record) {
                              undo_claim_and_wait(record);
                              count_holds(record);
                              forget_holds(record);
                            });
                          }};

}  // namespace readmost::detail
