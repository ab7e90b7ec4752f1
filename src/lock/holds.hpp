// Read holds: where they are noted and counted.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// Counts a lock that is used for the first time.
void meet(rwlock& lock) noexcept;

// Whether the caller may hold the lock for reading: a thread with untracked holds may hold any
// lock.
inline bool holds_shared(const thread_record* me, const rwlock& lock) noexcept {
  if (me == nullptr || me->untracked != 0) return true;
  for (const auto& slot : me->held) {
    if ((slot.load(platform::relaxed) & ~held_active) == address(lock)) return true;
  }
  return false;
}

inline void change_elsewhere(thread_record& me, std::int32_t by) noexcept {
  me.elsewhere.store(me.elsewhere.load(platform::relaxed) + static_cast<std::uint32_t>(by),
                     platform::relaxed);
}

// Calls visit(slot, is_home) for a free slot of the caller, the lock's home slot if possible, and
// returns its result; returns false if no slot is free. Any other slot counts in `elsewhere` while
// visited, and afterwards if the visit succeeds.
template <class Visit>
bool with_free_slot(thread_record& me, const rwlock& lock, Visit visit) noexcept {
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = 0; i < held_slots; ++i) {
    auto& slot = me.held[(home + i) % held_slots];
    if (!is_free(slot.load(platform::relaxed))) continue;
    if (i != 0) change_elsewhere(me, +1);
    if (visit(slot, i == 0)) return true;
    if (i != 0) change_elsewhere(me, -1);
    return false;
  }
  return false;
}

// Counts a read by its home slot, or separately if its hold is noted in another slot.
void count_read(thread_record& me, const rwlock& lock, bool is_home, bool passive) noexcept;

// Notes and counts an active read hold of the caller.
void note_active_hold(thread_record& me, const rwlock& lock) noexcept;

// Takes the caller's latest hold of `lock` off its record. A passive hold is released by that.
enum class found { nothing, active, passive };
found take_off_record(thread_record& me, const rwlock& lock) noexcept;

// Subtracts one hold from the lock's count, regardless of the records, and wakes the threads that
// wait for it. A count below zero is a debt; returns false in states that allow no debt.
bool release_counted_hold(rwlock& lock) noexcept;

}  // namespace readmost::detail
