// SPDX-License-Identifier: Apache-2.0
// The holds, claims and waits of a thread that exits, or that does not exist in a fork's child.
#include "lock/absence.hpp"
#include "lock/holds.hpp"
#include "lock/sleep_note.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// Counts the exiting thread's passive holds in their locks, where another thread can release them.
void count_holds(thread_record& me) noexcept {
  for_each_slot(me, [&](auto& slot, std::size_t) {
    std::uintptr_t held = slot.load(platform::relaxed);
    // Those that were moved stay, for the next owner: see clear_moved_holds().
    if (is_passive_hold(held) && is_mutant(mutant::exit_drops_holds)) {
      slot.store(0, platform::relaxed);
    } else if (is_passive_hold(held)) {
      // First counted, then cleared (D): a writer that scans (L) and then counts (K2) sees the
      // hold in at least one place. The compare-and-swap fails if another thread has moved the hold
      // to the count meanwhile.
      auto& lock = *reinterpret_cast<rwlock*>(held);
      lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
      if (!slot.compare_exchange_strong(held, 0, at(letter::D, platform::release),
                                        platform::relaxed)) {
        if (!is_mutant(mutant::counts_moved_holds)) release_counted_hold(lock);
      }
    }
    return true;
  });
}

// Lets the next owner of the record begin without holds.
void forget_holds(thread_record& record) noexcept {
  record.nested.store(0, platform::relaxed);
  for (auto& slot : record.nested_held) {
    if ((slot.load(platform::relaxed) & counted_hold) != 0) slot.store(0, platform::relaxed);
  }
  for (auto& note : record.noted) note = 0;
  record.unnoted = 0;
  forget_sleep(record);
}

// In a fork's child: whether the lock is in memory that the child has not inherited
// (MADV_DONTFORK).
bool is_absent(const rwlock& lock) noexcept {
  return platform::is_unmapped(&lock, sizeof lock);
}

// In a fork's child: counts the passive holds of a thread that does not exist there in their locks,
// where another thread can release them.
void make_holds_active(thread_record& record) noexcept {
  for_each_slot(record, [](auto& slot, std::size_t) {
    const std::uintptr_t held = slot.load(platform::relaxed);
    if (is_passive_hold(held)) {
      auto& lock = *reinterpret_cast<rwlock*>(held);
      if (!is_absent(lock)) lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
    }
    if (held != 0) slot.store(0, platform::relaxed);
    return true;
  });
  for (auto& slot : record.nested_held) slot.store(0, platform::relaxed);
  for (auto& moved : record.moved) moved.store(0, platform::relaxed);
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
  if ((state & rwlock::claiming) == 0) return;
  lock.state.store((state & ~rwlock::claiming) | rwlock::draining, platform::relaxed);
}

// Takes a thread that is gone out of the waiters of its lock.
void undo_waiting(thread_record& record) noexcept {
  const std::uintptr_t waiting = record.waiting_in.load(platform::relaxed);
  if (waiting == 0 || is_mutant(mutant::fork_keeps_waiters)) return;
  record.waiting_in.store(0, platform::relaxed);
  constexpr std::uintptr_t tags = 7;
  auto& lock = *reinterpret_cast<rwlock*>(waiting & ~tags);
  if (is_absent(lock) || is_in_shared_memory(lock)) return;
  const auto as = static_cast<waits_as>(waiting & tags);
  std::uint64_t state = rwlock::without_waiter(lock.state.load(platform::relaxed), as);
  // A counted writer may have asked to be next.
  if (as == waits_as::writer) state &= ~rwlock::handoff;
  lock.state.store(state, platform::relaxed);
}

}  // namespace

constinit part holds_part{.on_enlist = clear_moved_holds,
                          .on_exit = count_holds,
                          .on_departure = forget_holds,
                          .in_child = [] {
                            absence::forget_all();
                            for_each_orphan([](thread_record& record) {
                              undo_decision(record);
                              undo_waiting(record);
                              make_holds_active(record);
                              forget_holds(record);
                            });
                          }};

}  // namespace readmost::detail
