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

}  // namespace

void meet(rwlock& lock, thread_record* me, rules how) noexcept {
  if ((lock.traits.load(platform::relaxed) & rwlock::met) != 0) return;
  if ((lock.traits.fetch_or(rwlock::met, platform::relaxed) & rwlock::met) != 0) return;
  count_lock(domains[lock.domain], me);
  if (lock_statistics_on()) note_meeting(address(lock));
  if (is_observed()) {
    // Nor `ready`, nor `unnoted`: see observation.hpp.
    observe_new_lock(lock);
    lock.traits.fetch_or(rwlock::never_biased, platform::relaxed);
    return;
  }
  lock.state.fetch_or(
      (lock_statistics_on() ? 0 : rwlock::ready) | (how.noted ? 0 : rwlock::unnoted),
      platform::relaxed);
}

namespace {

// Lowers the stack of nested holds, of which the one at `depth` has been released. Holds below it
// may have been released before.
void lower_nested(thread_record& me, std::uint32_t depth) noexcept {
  if (depth + 1 != me.nested.load(platform::relaxed)) return;
  while (depth != 0 && !is_in_use(me.nested_held[depth - 1].load(platform::relaxed))) --depth;
  // (D3) As in rwlock.hpp.
  me.nested.store(depth, at(letter::D3, platform::release));
}

// Whether the slot is free, also of a hold that has been moved. `i`: see passive_slot().
bool make_room(thread_record& me, std::size_t i) noexcept {
  auto& slot = passive_slot(me, i);
  // (MV4) Pairs with (MV1): the announcement is not older than the tag.
  const std::uintptr_t held = slot.load(at(letter::MV4, platform::acquire));
  if ((held & moved_hold) == 0) return held == 0;
  me.moved[i].store(0, platform::relaxed);
  slot.store(0, platform::relaxed);
  return true;
}

// The nested slot that the next hold takes; `nested_slots` if none is free.
std::uint32_t next_nested(thread_record& me) noexcept {
  std::uint32_t depth = me.nested.load(platform::relaxed);
  // One may have been filled, and the stack not yet raised, by the code that this signal handler
  // has interrupted.
  while (depth < nested_slots && !make_room(me, home_slots + depth)) ++depth;
  return depth;
}

// Publishes a passive hold in a free slot: the home slot if possible, else a nested one. False, and
// the hold taken back, if it came too late; false also if no slot is free.
bool hold_in_free_slot(rwlock& lock, thread_record& me) noexcept {
  const std::size_t home = home_slot(&lock);
  bool in_time = false;
  if (!has_nested_holds(me) && make_room(me, home)) {
    auto& slot = me.held[home];
    in_time =
        READMOST_VARIANT(check_before_publish, publish_and_look(lock, me, slot, rwlock::any_bias),
                         look_and_publish(lock, me, slot, rwlock::any_bias));
  } else {
    const std::uint32_t depth = next_nested(me);
    if (depth == nested_slots) return false;
    in_time = publish_nested_and_look(lock, me, depth, rwlock::any_bias);
  }
  if (!in_time) retract_published(lock);
  return in_time;
}

}  // namespace

void clear_moved_holds(thread_record& me) noexcept {
  for (std::size_t i = 0; i < passive_slots; ++i) make_room(me, i);
}

bool note_over_passive_hold(thread_record& me, const rwlock& lock) noexcept {
  if (passive_holds_of(me, lock) == 0) return false;
  const std::uint32_t depth = next_nested(me);
  if (depth == nested_slots) return false;
  me.nested_held[depth].store(address(lock) | counted_hold, platform::relaxed);
  platform::signal_fence();
  me.nested.store(depth + 1, platform::relaxed);
  return true;
}

taken_off take_off_slots(const rwlock& lock, thread_record& me) noexcept {
  for (std::uint32_t i = me.nested.load(platform::relaxed); i-- > 0;) {
    auto& slot = me.nested_held[i];
    // (MV4) Pairs with (MV1): a hold that has been moved is counted.
    const std::uintptr_t held = slot.load(at(letter::MV4, platform::acquire));
    if ((held & ~counted_hold) != address(lock)) continue;
    const bool report = release_slot(me, domain_of(me), slot);
    lower_nested(me, i);
    if (held != address(lock)) return taken_off::active;
    if (report) after_passive_release(lock, me);
    return taken_off::passive;
  }
  auto& home = me.held[home_slot(&lock)];
  if (home.load(at(letter::MV4, platform::acquire)) != address(lock)) return taken_off::nothing;
  if (release_slot(me, domain_of(me), home)) after_passive_release(lock, me);
  return taken_off::passive;
}

void retract_published(rwlock& lock) noexcept {
  // Unless a signal handler has released this hold in place of its own, which is counted, or
  // another thread has moved it to the count.
  if (take_off_slots(lock, my_record(lock.domain)) == taken_off::nothing) {
    release_counted_hold(lock);
  }
}

bool lock_shared_nested(rwlock& lock, thread_record& me) noexcept {
  if (&me == &unregistered || !is_online(me) || !hold_in_free_slot(lock, me)) return false;
  count_own(me.reads[home_slot(&lock)]);
  if (lock_statistics_on()) note_read(address(lock), true);
  return true;
}

int slots_with(const thread_record& me, std::uintptr_t content) noexcept {
  int found = 0;
  for_each_slot(me, [&](const auto& slot) {
    if (slot.load(platform::relaxed) == content) ++found;
  });
  return found;
}

int noted_holds_of(const thread_record& me, const rwlock& lock) noexcept {
  int holds = 0;
  for (const std::uintptr_t note : me.noted) {
    if (is_note_of(note, address(lock))) holds += 1 + static_cast<int>(note & most_held_again);
  }
  return holds;
}

void note_hold(thread_record& me, const rwlock& lock) noexcept {
  platform::variable<std::uintptr_t>* free = nullptr;
  for (auto& note : me.noted) {
    if (is_note_of(note, address(lock)) && (note & most_held_again) != most_held_again &&
        !is_mutant(mutant::handler_takes_off_first_note)) {
      ++note;
      return;
    }
    if (note == 0 && free == nullptr) free = &note;
  }
  if (free == nullptr) {
    ++me.unnoted;
  } else {
    *free = address(lock);
  }
}

void take_off_note(thread_record& me, const rwlock& lock) noexcept {
  for (auto& note : me.noted) {
    if (!is_note_of(note, address(lock))) continue;
    note = note == address(lock) ? 0 : note - 1;
    return;
  }
  // A hold that another thread has moved is not noted.
  if (me.unnoted != 0 && slots_with(me, address(lock) | moved_hold) == 0) --me.unnoted;
}

bool release_counted_hold(rwlock& lock) noexcept {
  const platform::futex_word word = sleep_word(lock);
  domain& d = domains[lock.domain];
  std::uint64_t state = lock.state.load(platform::relaxed);
  while (rwlock::readers(state) != 0) {
    std::uint64_t next = state - rwlock::one_reader;
    const wake_up wake = wake_up::after_reader(next);
    // (P) Release pairs with the acquire of the writer that finds the count at zero: (K2), (J3),
    // (J4).
    if (!lock.state.compare_exchange_weak(state, next, at(letter::P, platform::release),
                                          platform::relaxed)) {
      continue;
    }
    wake.carry_out(word);
    // An upgrader that waits for passive readers may find its own hold released by this thread.
    constexpr std::uint64_t upgrading_over_slots = rwlock::upgrading | rwlock::draining;
    if (rwlock::readers(next) == 0 && (next & upgrading_over_slots) == upgrading_over_slots) {
      wake_drain_sleepers(d, &lock);
    }
    return true;
  }
  return false;
}

namespace {

// Releases an active hold whose fast path has failed for no other reason than other threads that
// changed the state first.
template <bool Noted>
bool release_after_lost_race(rwlock& lock, thread_record& me) noexcept {
  for (;;) {
    const std::uint64_t state = lock.state.load(platform::relaxed);
    if (!may_unlock_actively<Noted>(lock, me, state)) return false;
    bias::credit_lost_race(lock, state);
    if (try_unlock_shared_active<Noted>(lock, me, state)) return true;
  }
}

}  // namespace

bool unlock_shared_slow(rwlock& lock) noexcept {
  if (is_observed()) observe_release(lock, hold_kind::read);
  thread_record& me = my_record(lock.domain);
  const bool noted = notes_holds(lock.state.load(platform::relaxed));
  if (noted ? release_after_lost_race<true>(lock, me) : release_after_lost_race<false>(lock, me)) {
    return true;
  }
  if (take_off_slots(lock, me) == taken_off::passive) return true;
  while (!release_counted_hold(lock)) {
    if (!move_holds_to_count(lock)) return false;
  }
  if (noted) take_off_note(me, lock);
  return true;
}

}  // namespace readmost::detail
