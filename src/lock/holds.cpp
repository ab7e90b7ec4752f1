#include "lock/holds.hpp"

#include "lock/waking.hpp"
#include "statistics/lock_statistics.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

void meet(rwlock& lock) noexcept {
  if ((lock.traits.load(platform::relaxed) & rwlock::met) != 0) return;
  if ((lock.traits.fetch_or(rwlock::met, platform::relaxed) & rwlock::met) == 0) {
    domains[lock.domain].locks_met.fetch_add(1, platform::relaxed);
    if (lock_statistics_on()) note_meeting(address(lock));
  }
}

void count_read(thread_record& me, const rwlock& lock, bool is_home, bool passive) noexcept {
  const std::size_t home = home_slot(&lock);
  if (lock_statistics_on()) note_read(address(lock), passive);
  auto& elsewhere = passive ? me.reads_elsewhere : me.active_elsewhere;
  auto& at_home = passive ? me.reads[home] : me.active_reads[home];
  count_own(is_home ? at_home : elsewhere);
}

void note_active_hold(thread_record& me, const rwlock& lock) noexcept {
  const bool noted = with_free_slot(me, lock, [&](auto& slot, bool is_home) {
    // (A3) As (A1) in rwlock.hpp.
    slot.store(held_actively(lock), at(letter::A3, platform::release));
    count_read(me, lock, is_home, false);
    return true;
  });
  if (noted) return;
  ++me.untracked;
  count_read(me, lock, false, false);
}

found take_off_record(thread_record& me, const rwlock& lock) noexcept {
  const std::size_t home = home_slot(&lock);
  for (std::size_t i = held_slots; i-- > 0;) {
    auto& slot = me.held[(home + i) % held_slots];
    const std::uintptr_t held = slot.load(platform::relaxed);
    if ((held & ~held_active) != address(lock)) continue;
    if (i != 0) change_elsewhere(me, -1);
    if (held == held_passively(lock)) {
      release_passive_hold(lock, me, domain_of(me), slot);
      return found::passive;
    }
    // (A4) As (A1) in rwlock.hpp.
    slot.store(i == 0 ? held_before(lock) : 0, at(letter::A4, platform::release));
    return found::active;
  }
  if (me.untracked == 0) return found::nothing;
  --me.untracked;
  return found::active;
}

bool release_counted_hold(rwlock& lock) noexcept {
  domain& d = domains[lock.domain];
  const platform::futex_word word = sleep_word(lock);
  std::uint64_t state = lock.state.load(platform::relaxed);
  for (;;) {
    const std::int64_t readers = rwlock::readers(state);
    bool debt = false;
    if (readers <= 0) {
      // Another thread holds the lock passively and will not release that hold.
      if ((state & (rwlock::biased | rwlock::draining | rwlock::writing)) == 0) return false;
      debt = true;
      lock.traits.fetch_or(rwlock::never_biased, platform::relaxed);
    }
    std::uint64_t next = state - rwlock::one_reader;
    const bool last = readers == 1 && (state & rwlock::writers_parked) != 0;
    if (last) next &= ~rwlock::writers_parked;
    const bool last_other = readers <= 2 && (state & rwlock::upgrader_parked) != 0;
    if (last_other) next &= ~rwlock::upgrader_parked;
    // (P) Release pairs with the acquire of the writer that finds the count at zero: (K), (K2),
    // (J3), (J4), (U1).
    if (!lock.state.compare_exchange_weak(state, next, at(letter::P, platform::release),
                                          platform::relaxed)) {
      continue;
    }
    if (last && !is_mutant(mutant::lost_wakeup)) platform::futex_wake(word, 1, parking::writers);
    if (last_other && !is_mutant(mutant::lost_upgrader_wakeup)) {
      platform::futex_wake(word, 1, parking::upgrader);
    }
    if (debt) wake_drain_sleepers(d);
    return true;
  }
}

namespace {

// The caller releases another thread's hold: clears one note of an active hold, in the record of
// any thread. A note that is not in its home slot, or that its owner is changing at this moment,
// stays and costs its owner a slot.
void take_off_any_record(domain& d, const rwlock& lock) noexcept {
  const std::size_t home = home_slot(&lock);
  bool taken = false;
  for_each_record(d, [&](thread_record& record, bool) {
    std::uintptr_t note = held_actively(lock);
    if (!taken && record.held[home].load(platform::relaxed) == note) {
      taken = record.held[home].compare_exchange_strong(note, 0, platform::relaxed);
    }
  });
}

}  // namespace

bool unlock_shared_slow(rwlock& lock) noexcept {
  thread_record& me = my_record(lock.domain);
  const found hold = &me != &unregistered ? take_off_record(me, lock) : found::nothing;
  if (hold == found::passive) return true;
  if (hold == found::nothing && rwlock::readers(lock.state.load(platform::relaxed)) > 0 &&
      !is_mutant(mutant::stale_notes)) {
    take_off_any_record(domains[lock.domain], lock);
  }
  return release_counted_hold(lock);
}

}  // namespace readmost::detail
