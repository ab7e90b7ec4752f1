// SPDX-License-Identifier: Apache-2.0
#include "lock/holds.hpp"

#include "lock/bias.hpp"
#include "lock/observation.hpp"
#include "lock/waking.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// Counts a lock in the caller's record, and many at a time in the domain, whose line all threads
// use.
void count_lock(domain& d, thread_record* me) noexcept {
  constexpr std::uint32_t at_a_time = 64;
  std::uint32_t count = 1;
  if (me != nullptr) {
    count += me->locks_met.load(platform::relaxed);
    me->locks_met.store(count % at_a_time, platform::relaxed);
    if (count < at_a_time) return;
  }
  d.locks_met.fetch_add(count, platform::relaxed);
}

// Whoever has met the lock first may have yet to say in its state that holds are not noted; the
// unlock of a hold that was noted until then would leave its note.
void see_whether_noted(rwlock& lock, rules how) noexcept {
  if (how.noted || is_observed() || is_mutant(mutant::noted_until_met)) return;
  if (!notes_holds(lock.state.load(platform::relaxed))) return;
  lock.state.fetch_or(rwlock::unnoted, platform::relaxed);
}

}  // namespace

void meet(rwlock& lock, thread_record* me, rules how) noexcept {
  if ((lock.traits.load(platform::relaxed) & rwlock::met) != 0) return see_whether_noted(lock, how);
  // In one step, because another thread that finds the lock met may give it its bias.
  const std::uint8_t traits = is_observed() ? rwlock::met | rwlock::never_biased : rwlock::met;
  if ((lock.traits.fetch_or(traits, platform::relaxed) & rwlock::met) != 0) {
    return see_whether_noted(lock, how);
  }
  count_lock(domains[lock.domain], me);
  if (lock_statistics_on()) note_meeting(address(lock));
  // An observed lock is neither `ready` nor `unnoted`: see observation.hpp.
  if (is_observed()) return observe_new_lock(lock);
  lock.state.fetch_or(
      (lock_statistics_on() ? 0 : rwlock::ready) | (how.noted ? 0 : rwlock::unnoted),
      platform::relaxed);
}

void take_back(rwlock& lock, thread_record& me, platform::atomic<std::uintptr_t>& slot,
               std::size_t index) noexcept {
  if (slot.load(platform::relaxed) == 0) {
    // A signal handler has released this hold in place of its own, which is counted.
    release_counted_hold(lock);
    return;
  }
  // (D2) Release: if a writer's (L) reads this store instead of the preceding (D), that section
  // still happens before the writer.
  slot.store(0, at(letter::D2, platform::release));
  if (index >= home_slots) lower_nested(me, index - home_slots);
  if (!is_mutant(mutant::unreported_retract)) after_passive_release(lock, me, index);
}

void retract_published(rwlock& lock, passive_attempt attempt) noexcept {
  thread_record& me = my_record(lock.domain);
  if (attempt == passive_attempt::published_nested) {
    take_back(lock, me, me.nested_held[0], home_slots);
  } else {
    const std::size_t home = home_slot(&lock);
    take_back(lock, me, me.held[home], home);
  }
}

void lower_nested(thread_record& me, std::size_t depth) noexcept {
  if (depth + 1 != me.nested.load(platform::relaxed)) return;
  while (depth != 0 && !is_in_use(me.nested_held[depth - 1].load(platform::relaxed))) {
    --depth;
  }
  // (D3) As in rwlock.hpp.
  me.nested.store(static_cast<std::uint32_t>(depth), at(letter::D3, platform::release));
}

namespace {

// Clears a slot whose hold has been moved, and the announcement of that. False if there is none
// such or the move is not complete.
bool clear_moved(thread_record& me, platform::atomic<std::uintptr_t>& slot,
                 std::size_t index) noexcept {
  // (MV4) Pairs with (MV1): the announcement is not older than the mark.
  const std::uintptr_t last = slot.load(at(letter::MV4, platform::acquire));
  auto& announced = me.moved[index];
  if ((last & moved_hold) == 0 || announced.load(platform::relaxed) == last) return false;
  announced.store(0, platform::relaxed);
  slot.store(0, platform::relaxed);
  return true;
}

// Whether a passive hold may be published in the slot.
bool has_room(thread_record& me, platform::atomic<std::uintptr_t>& slot,
              std::size_t index) noexcept {
  return slot.load(platform::relaxed) == 0 || clear_moved(me, slot, index);
}

// Whether a fenced hold that has been published came in time. Brings the record into the index, if
// it is not there.
bool fenced_came_in_time(const rwlock& lock, thread_record& me) noexcept {
  // (C) As in rwlock.hpp.
  return stay_visible(me) &&
         (lock.state.load(at(letter::C, platform::acquire)) & rwlock::any_bias) != 0;
}

// Publishes a passive hold in a free slot: the home slot if possible, else a nested one. False, and
// the hold taken back, if it came too late; false also if no slot is free. Without a fence it is
// too late if the lock has become biased_by_fences meanwhile, which takes a signal handler to go
// unnoticed by the thread's mode.
bool hold_in_free_slot(rwlock& lock, thread_record& me, bool fenced) noexcept {
  const std::size_t home = home_slot(&lock);
  const std::uint32_t depth = me.nested.load(platform::relaxed);
  constexpr std::uint64_t without_fence = rwlock::bias_by_consensus;
  auto& slot = me.held[home];
  if (depth == 0 && has_room(me, slot, home)) {
    const bool in_time =
        READMOST_VARIANT(check_before_publish, publish_and_look(lock, me, slot, without_fence),
                         look_and_publish(lock, me, slot, without_fence));
    if (fenced ? fenced_came_in_time(lock, me) : in_time) return true;
    take_back(lock, me, slot, home);
    return false;
  }
  for (std::uint32_t i = depth; i < nested_slots; ++i) {
    // One may have been filled, and the stack not yet raised, by the code that this signal handler
    // has interrupted.
    if (!has_room(me, me.nested_held[i], home_slots + i)) continue;
    const bool in_time = publish_nested_and_look(lock, me, i, without_fence);
    if (fenced ? fenced_came_in_time(lock, me) : in_time) return true;
    take_back(lock, me, me.nested_held[i], home_slots + i);
    return false;
  }
  return false;
}

}  // namespace

void clear_moved_holds(thread_record& me) noexcept {
  for (std::size_t i = 0; i < home_slots; ++i) clear_moved(me, me.held[i], i);
  for (std::size_t i = 0; i < nested_slots; ++i) {
    clear_moved(me, me.nested_held[i], home_slots + i);
  }
}

bool note_over_passive_hold(thread_record& me, const rwlock& lock) noexcept {
  if (passive_holds_of(me, lock) == 0) return false;
  for (std::uint32_t i = me.nested.load(platform::relaxed); i < nested_slots; ++i) {
    if (!has_room(me, me.nested_held[i], home_slots + i)) continue;
    me.nested_held[i].store(address(lock) | counted_hold, platform::relaxed);
    platform::signal_fence();
    me.nested.store(i + 1, platform::relaxed);
    return true;
  }
  return false;
}

bool take_off_over_passive_hold(thread_record& me, const rwlock& lock) noexcept {
  for (std::uint32_t i = me.nested.load(platform::relaxed); i-- > 0;) {
    auto& slot = me.nested_held[i];
    const std::uintptr_t held = slot.load(platform::relaxed);
    if (held == address(lock)) return false;
    if (held != (address(lock) | counted_hold)) continue;
    slot.store(0, platform::relaxed);
    lower_nested(me, i);
    return true;
  }
  return false;
}

namespace {

void publish_with_fence(const rwlock& lock, platform::atomic<std::uintptr_t>& slot) noexcept {
  // (A) As in rwlock.hpp. A read-modify-write, because a fence follows.
  slot.exchange(address(lock), at(letter::A, platform::release));
  // (F2) The hold before the loads of mode and state. Pairs with (K1) and (T1) in consensus.cpp:
  // either the round sees the hold, or this thread sees the lock closed, or itself out of the
  // index.
  platform::full_fence_after_rmw(letter::F2);
}

// Gives a lock that is biased_by_fences its usual bias if nothing is against that any more: one
// that is never written would keep its fences. The caller has a passive hold, which counts under
// both.
[[gnu::noinline]] void give_usual_bias(rwlock& lock) noexcept {
  const std::uint64_t bias = bias::bit_to_give(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  if (bias == rwlock::biased_by_fences || (state & rwlock::biased_by_fences) == 0 ||
      is_mutant(mutant::fences_for_ever)) {
    return;
  }
  // Relaxed: continues the release sequence that (M) began. If it fails, the next look does it.
  lock.state.compare_exchange_strong(state, state - rwlock::biased_by_fences + bias,
                                     platform::relaxed, platform::relaxed);
}

void count_passive_read(rwlock& lock, thread_record& me, bool fenced) noexcept {
  constexpr std::uint64_t reads_between_looks = 1024;
  auto& reads = me.reads[home_slot(&lock)];
  count_own(reads);
  if (fenced && reads.load(platform::relaxed) % reads_between_looks == 0) [[unlikely]]
    give_usual_bias(lock);
}

bool lock_shared_in_free_slot(rwlock& lock, thread_record& me, bool fenced) noexcept {
  if (&me == &unregistered || !hold_in_free_slot(lock, me, fenced)) return false;
  count_passive_read(lock, me, fenced);
  if (lock_statistics_on()) note_read(address(lock), true);
  return true;
}

// The usual fenced hold: in the home slot of a record in the index.
bool lock_shared_fenced(rwlock& lock, thread_record& me) noexcept {
  const std::size_t home = home_slot(&lock);
  auto& slot = me.held[home];
  if ((slot.load(platform::relaxed) | me.nested.load(platform::relaxed)) != 0 || !is_listed(me) ||
      lock_statistics_on()) {
    return lock_shared_in_free_slot(lock, me, true);
  }
  READMOST_VARIANT(fenced_hold_without_fence, publish_with_fence(lock, slot), publish(lock, slot));
  // (C) As in rwlock.hpp.
  const std::uint64_t state = lock.state.load(at(letter::C, platform::acquire));
  if ((state & rwlock::any_bias) != 0 &&
      (is_listed(me) || is_mutant(mutant::fenced_while_unlisted))) [[likely]] {
    if (me.idle_rounds.load(platform::relaxed) != 0) me.idle_rounds.store(0, platform::relaxed);
    count_passive_read(lock, me, true);
    return true;
  }
  take_back(lock, me, slot, home);
  return false;
}

}  // namespace

bool lock_shared_nested(rwlock& lock, thread_record& me) noexcept {
  if ((lock.state.load(platform::relaxed) & rwlock::biased_by_fences) != 0) {
    return lock_shared_fenced(lock, me);
  }
  // A lock may have got its bias before membarrier failed.
  const bool fenced = !is_online(me);
  return (!fenced || is_membarrier_missing()) && lock_shared_in_free_slot(lock, me, fenced);
}

int slots_with(const thread_record& me, std::uintptr_t content) noexcept {
  int found = 0;
  for_each_slot(me, [&](const auto& slot, std::size_t) {
    if (slot.load(platform::relaxed) == content) ++found;
    return true;
  });
  return found;
}

int noted_holds_of(const thread_record& me, const rwlock& lock) noexcept {
  int holds = 0;
  for (const std::uintptr_t note : me.noted) {
    if ((note & ~held_again) == address(lock)) ++holds;
  }
  return holds;
}

void note_hold(thread_record& me, const rwlock& lock) noexcept {
  auto& first = me.noted[0];
  if (first == address(lock) && !is_mutant(mutant::handler_takes_off_first_note)) {
    first = address(lock) | held_again;
  }
  for (auto& note : me.noted) {
    if (note != 0) continue;
    note = address(lock);
    return;
  }
  ++me.unnoted;
}

void take_off_note(thread_record& me, const rwlock& lock) noexcept {
  int others = 0;
  for (std::size_t i = noted_holds; i-- > 1;) {
    if (me.noted[i] == address(lock) && ++others == 1) me.noted[i] = 0;
  }
  auto& first = me.noted[0];
  const bool again = first == (address(lock) | held_again);
  if (others == 0) {
    if (first == address(lock) || (again && me.unnoted == 0)) {
      first = 0;
      return;
    }
    if (me.unnoted != 0) --me.unnoted;
  }
  if (again && others <= 1) first = address(lock);
}

bool release_own_passive_hold(const rwlock& lock, thread_record& me) noexcept {
  const domain& d = domain_of(me);
  for (std::uint32_t i = me.nested.load(platform::relaxed); i-- > 0;) {
    auto& slot = me.nested_held[i];
    if (slot.load(platform::relaxed) != address(lock)) continue;
    const bool report = release_slot(me, d, slot);
    lower_nested(me, i);
    if (report) after_passive_release(lock, me, home_slots + i);
    return true;
  }
  const std::size_t home = home_slot(&lock);
  if (me.held[home].load(platform::relaxed) != address(lock)) return false;
  if (release_slot(me, d, me.held[home])) after_passive_release(lock, me, home);
  return true;
}

bool release_counted_hold(rwlock& lock) noexcept {
  const platform::futex_word word = sleep_word(lock);
  domain& d = domains[lock.domain];
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    const std::uint64_t readers = rwlock::readers(state);
    if (readers == 0) return false;
    std::uint64_t next = state - rwlock::one_reader;
    const bool last = readers == 1 && (state & rwlock::writers_parked) != 0;
    if (last) next &= ~rwlock::writers_parked;
    const bool last_other = readers <= 2 && (state & rwlock::upgrader_parked) != 0;
    if (last_other) next &= ~rwlock::upgrader_parked;
    // An upgrader that waits for passive readers may find its own hold released by this thread.
    constexpr std::uint64_t upgrading_over_slots = rwlock::upgrading | rwlock::draining;
    const bool last_of_upgrader =
        readers == 1 && (state & upgrading_over_slots) == upgrading_over_slots;
    // (P) Release pairs with the acquire of the writer that finds the count at zero: (K2), (J3),
    // (J4), (U1).
    if (!lock.state.compare_exchange_weak(state, next, at(letter::P, platform::release),
                                          platform::relaxed)) {
      continue;
    }
    if (last && !is_mutant(mutant::lost_wakeup)) platform::futex_wake(word, 1, parking::writers);
    // All of them: upgraders that wait for a claim to be decided are not counted.
    if (last_other && !is_mutant(mutant::lost_upgrader_wakeup)) {
      platform::futex_wake(word, INT32_MAX, parking::upgrader);
    }
    if (last_of_upgrader) wake_drain_sleepers(d, &lock);
    return true;
  }
}

namespace {

// Whether others remain inside who will wake those that sleep.
bool leaves_waking_to_others(std::uint64_t state) noexcept {
  if (is_mutant(mutant::last_wakes_nobody)) return true;
  const std::uint64_t others = rwlock::readers(state) - 1;
  // An upgrader is one of the others.
  return ((state & rwlock::writers_parked) == 0 || others >= 1) &&
         ((state & rwlock::upgrader_parked) == 0 || others >= 2);
}

// Releases an active hold if that is all there is to do: the fast path has failed because another
// thread changed the state, now `state`, first, or because waiters sleep.
bool release_active_hold(bool noted, rwlock& lock, thread_record& me,
                         std::uint64_t state) noexcept {
  while (holds_actively(noted, lock, me, state, 0) && leaves_waking_to_others(state)) {
    if (may_unlock_actively(noted, lock, me, state)) bias::credit_lost_race(lock, state);
    if (leave_actively(noted, lock, me, state)) return true;
  }
  return false;
}

}  // namespace

bool unlock_shared_slow(rwlock& lock) noexcept {
  if (is_observed()) observe_release(lock, hold_kind::read);
  thread_record& me = my_record(lock.domain);
  const bool registered = &me != &unregistered;
  const std::uint64_t state = lock.state.load(platform::relaxed);
  const bool noted = registered && notes_holds(state);
  if (registered && release_active_hold(noted, lock, me, state)) return true;
  if (registered && !take_off_over_passive_hold(me, lock) && release_own_passive_hold(lock, me)) {
    return true;
  }
  while (!release_counted_hold(lock)) {
    if (!move_holds_to_count(lock)) return false;
  }
  // A hold that another thread has moved is not noted.
  if (noted && (noted_holds_of(me, lock) != 0 || slots_with(me, address(lock) | moved_hold) == 0)) {
    take_off_note(me, lock);
  }
  return true;
}

}  // namespace readmost::detail
