// SPDX-License-Identifier: Apache-2.0
#include "rcu/backlog.hpp"

#include "rcu/stall.hpp"

namespace readmost::detail {

namespace {

// For objects to be reclaimed, before the domain counts as stalled.
constexpr std::uint64_t longest_stall = 100'000'000;
// Of one call, while objects are reclaimed, or while the reclaimer has not got a CPU.
constexpr std::uint64_t longest_wait = 1'000'000'000;

bool is_stalled(const reclamation& r, std::uint32_t some) noexcept {
  return r.stalled_at.load(platform::relaxed) == std::uint64_t{some} + 1;
}

void note_stall(domain& d, reclamation& r, std::uint32_t some) noexcept {
  r.stalled_at.store(std::uint64_t{some} + 1, platform::relaxed);
  look_at_running_deleter(d, r);
}

// Without waiting for the grace period: its reader may never leave. Another thread may be the
// executor.
void throttle_in_place(domain& d, reclamation& r, bool for_good) noexcept {
  const platform::deadline longest = platform::in(longest_wait);
  platform::deadline until = platform::in(longest_stall);
  std::uint32_t some = r.reclaimed_some.load(platform::relaxed);
  while (!is_well_below_limit(r) && !is_process_over(r)) {
    if (!for_good && (is_stalled(r, some) || platform::time_left(longest) == 0)) return;
    if (reclaim_in_place(d, r, false)) return;
    const std::uint32_t now = r.reclaimed_some.load(platform::relaxed);
    if (now != some) {
      some = now;
      until = platform::in(longest_stall);
      continue;
    }
    if (platform::time_left(until) == 0) {
      note_stall(d, r, some);
      until = platform::in(longest_stall);
    }
    go_offline();
    platform::sleep_for(between_looks);
  }
}

// Whether the reclaimer waits: for a reader, or in a deleter.
bool is_reclaimer_blocked(const reclamation& r) noexcept {
  return !runs(r) || platform::is_thread_asleep(r.reclaimer_thread.load(platform::relaxed));
}

// Sleeps until something is reclaimed after `some`. False if nothing has been for long.
bool await_progress(domain& d, reclamation& r, std::uint32_t some) noexcept {
  start_reclaimer(d);
  wake_reclaimer_now(r);
  go_offline();
  const platform::deadline until = platform::in(longest_stall);
  return platform::futex_wait(platform::futex_of(r.reclaimed_some), some, ~0U, &until) !=
         platform::wake_reason::timed_out;
}

}  // namespace

void throttle(domain& d, reclamation& r) noexcept {
  if (is_in_any_deleter() || is_in_section(number_of(d))) return;
  const backlog_policy policy = r.policy.load(platform::relaxed);
  if (policy == backlog_policy::warn) {
    warn_of_backlog(d);
    return;
  }
  const bool for_good = policy == backlog_policy::block;
  if (r.in_place.load(platform::relaxed)) {
    throttle_in_place(d, r, for_good);
    return;
  }
  const platform::deadline longest = platform::in(longest_wait);
  r.throttled.fetch_add(1, platform::relaxed);
  // Announced before the futex call reads the number; the call executes a full fence of its own:
  // see (Y7).
  for (;;) {
    // (Y16) Before the account is read. Pairs with (Y15).
    const std::uint32_t some = r.reclaimed_some.load(at(letter::Y16, platform::acquire));
    if (is_well_below_limit(r) || is_process_over(r)) break;
    // A thread has waited in vain since: to wait again would slow down the caller and nothing else.
    if (!for_good && (is_stalled(r, some) || platform::time_left(longest) == 0)) break;
    if (!await_progress(d, r, some) &&
        (is_reclaimer_blocked(r) || platform::time_left(longest) == 0)) {
      note_stall(d, r, some);
    }
  }
  r.throttled.fetch_sub(1, platform::relaxed);
}

}  // namespace readmost::detail
