// SPDX-License-Identifier: Apache-2.0
#include "lock/lone_writer.hpp"

#include "lock/bias.hpp"
#include "lock/decision.hpp"
#include "lock/waking.hpp"
#include "platform/probes.hpp"
#include "statistics/contention_profile.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// A passive hold is in the home slot or a nested one.
bool may_hold_passively(const thread_record& me, const rwlock& lock) noexcept {
  return has_nested_holds(me) || me.held[home_slot(&lock)].load(platform::relaxed) == address(lock);
}

// Ends a claim without entering. The next one needs no consensus.
void back_out(rwlock& lock, thread_record& me, preference prefers) noexcept {
  const round done = reach_consensus(domains[lock.domain], &me);
  bias::account_for_revocation(lock, &me, done, done.among_others);
  // (M2) As in writers.cpp.
  open_door(lock, prefers, at(letter::M2, platform::release),
            [](std::uint64_t state) { return (state & ~rwlock::claiming) | rwlock::draining; });
}

}  // namespace

bool lock_exclusive_alone(rwlock& lock, thread_record& me, rules how) noexcept {
  std::uint64_t state = lock.state.load(platform::relaxed);
  // With statistics no lock is `ready`.
  if ((state & ~rwlock::unnoted) != (rwlock::ready | rwlock::biased) || &me == &unregistered) {
    return false;
  }
  const domain& d = domains[lock.domain];
  if (!is_alone_in_index(d, me) || may_hold_passively(me, lock) || lock_delays_noted()) {
    return false;
  }
  const decision pending(&me, lock);
  // (K) As in writers.cpp: the bias is cleared before the index is read, where readers do the
  // reverse (F).
  if (!lock.state.compare_exchange_strong(state, state - rwlock::biased + rwlock::claiming,
                                          at(letter::K, platform::acquire), platform::relaxed)) {
    return false;
  }
  // (K1) As in consensus.cpp. Whoever comes online from here on finds the lock closed.
  platform::full_fence_after_rmw(letter::K1);
  if ((is_mutant(mutant::alone_before_claim) || is_alone_in_index(d, me)) &&
      !may_hold_passively(me, lock)) {
    // (K2) As in writers.cpp. Others may have parked meanwhile, or be inside.
    state = lock.state.load(at(letter::K2, platform::acquire));
    while (rwlock::readers(state) == 0) {
      const std::uint64_t next = (state & ~rwlock::claiming) | rwlock::writing | rwlock::revoked;
      if (!lock.state.compare_exchange_strong(state, next, at(letter::K2, platform::acquire),
                                              at(letter::K2, platform::acquire))) {
        continue;
      }
      bias::debit_revocation_alone(lock, me);
      count_own(me.revocations);
      count_own(me.writes);
      READMOST_PROBE(revocation, &lock, std::uint64_t{0}, static_cast<int>(round_kind::none));
      return true;
    }
  }
  back_out(lock, me, how.prefers);
  return false;
}

bool unlock_exclusive_with_bias(rwlock& lock) noexcept {
  std::uint64_t state = lock.state.load(platform::relaxed);
  constexpr std::uint64_t usual = rwlock::ready | rwlock::writing | rwlock::revoked;
  if ((state & ~rwlock::unnoted) != usual || !bias::is_worth_keeping(lock)) return false;
  const std::uint8_t traits = lock.traits.load(platform::relaxed);
  if ((traits & (rwlock::never_biased | rwlock::clean)) != rwlock::clean || !membarrier_works()) {
    return false;
  }
  // Nor where a trial of the bias may be over: others look at the clock.
  if (bias_trials[lock.domain].fences_end.load(platform::relaxed) != 0) return false;
  // This write is debited already, unlike earlier ones by other paths.
  const std::uint16_t exits = lock.writer_exits.load(platform::relaxed);
  if (exits != lock.accounted_exits.load(platform::relaxed)) return false;
  const auto next = static_cast<std::uint16_t>(exits + 1);
  lock.accounted_exits.store(next, platform::relaxed);
  lock.writer_exits.store(next, platform::relaxed);
  // (M) As in writers.cpp: the last access to the lock's memory.
  return lock.state.compare_exchange_strong(
      state, state - rwlock::writing - rwlock::revoked + rwlock::biased,
      at(letter::M, platform::release), platform::relaxed);
}

}  // namespace readmost::detail
