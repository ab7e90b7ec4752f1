// The holds, claims and waits of a thread that exits, or that does not exist in a fork's child.
#include "lock/holds.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// Counts the exiting thread's passive holds in their locks, where another thread can release them,
// and clears its notes of active ones.
void count_holds(thread_record& me) noexcept {
  for (auto& slot : me.held) {
    std::uintptr_t held = slot.load(platform::relaxed);
    if (is_passive_hold(held) && !is_mutant(mutant::exit_drops_holds)) {
      // First counted, then cleared (Z1): a writer that scans (L) and then counts (K2) sees the
      // hold in at least one place. The compare-and-swap fails if another thread has released the
      // hold, as a debt, and a writer has erased both: then there was nothing to count.
      auto& lock = *reinterpret_cast<rwlock*>(held);
      lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
      if (!slot.compare_exchange_strong(held, 0, at(letter::Z1, platform::release),
                                        platform::relaxed) &&
          !is_mutant(mutant::counts_settled_holds)) {
        release_counted_hold(lock);
      }
    } else if (!is_free(held)) {
      // (A6) As (A1) in rwlock.hpp.
      slot.store(0, at(letter::A6, platform::release));
    }
  }
}

// Lets the next owner of the record begin without holds.
void forget_counts(thread_record& record) noexcept {
  record.untracked = 0;
  record.elsewhere.store(0, platform::relaxed);
}

// In a fork's child: whether the lock is in memory that the child has not inherited
// (MADV_DONTFORK).
bool is_absent(const rwlock& lock) noexcept {
  return platform::is_unmapped(&lock, sizeof lock);
}

// In a fork's child: counts the passive holds of a thread that does not exist there in their locks,
// where another thread can release them.
void make_holds_active(thread_record& record) noexcept {
  for (auto& slot : record.held) {
    const std::uintptr_t held = slot.load(platform::relaxed);
    if (is_passive_hold(held)) {
      auto& lock = *reinterpret_cast<rwlock*>(held);
      if (!is_absent(lock)) lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
    }
    slot.store(0, platform::relaxed);
  }
}

// Whether the parent shares the lock. Then its threads go on with it, though they are not in the
// child.
bool is_in_shared_memory(const rwlock& lock) noexcept {
  return platform::kind_of_mapping(&lock) == platform::mapping_kind::shared_memory;
}

// Takes back a claim that is undecided: its writer is gone and has never been inside.
void undo_decision(thread_record& record) noexcept {
  const std::uintptr_t address = record.deciding.load(platform::relaxed);
  if (address == 0) return;
  record.deciding.store(0, platform::relaxed);
  auto& lock = *reinterpret_cast<rwlock*>(address);
  if (is_absent(lock) || is_in_shared_memory(lock)) return;
  const std::uint64_t state = lock.state.load(platform::relaxed);
  if ((state & rwlock::writing) == 0 || lock.grant.load(platform::relaxed) != rwlock::not_granted) {
    return;
  }
  lock.state.store((state & ~rwlock::writing) | rwlock::draining, platform::relaxed);
}

// Takes a thread that is gone out of the waiters of its lock.
void undo_waiting(thread_record& record) noexcept {
  const std::uintptr_t waiting = record.waiting_in.load(platform::relaxed);
  if (waiting == 0 || is_mutant(mutant::fork_keeps_waiters)) return;
  record.waiting_in.store(0, platform::relaxed);
  constexpr std::uintptr_t tags = 3;
  auto& lock = *reinterpret_cast<rwlock*>(waiting & ~tags);
  if (is_absent(lock) || is_in_shared_memory(lock)) return;
  lock.state.store(rwlock::without_waiter(lock.state.load(platform::relaxed),
                                          static_cast<waits_as>(waiting & tags)),
                   platform::relaxed);
}

}  // namespace

constinit part holds_part{.on_exit = count_holds, .on_departure = forget_counts, .in_child = [] {
                            for_each_orphan([](thread_record& record) {
                              undo_decision(record);
                              undo_waiting(record);
                              make_holds_active(record);
                              forget_counts(record);
                            });
                          }};

}  // namespace readmost::detail
