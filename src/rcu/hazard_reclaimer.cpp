// SPDX-License-Identifier: Apache-2.0
// The hazard reclaimer scans when a thread that has retired finds that a scan is due, and once per
// pause as long as something is left. So deleters run under no lock of a thread that retires, and
// what an idle program has retired is reclaimed. With nothing left for a pause it ends, and the
// next retirement starts it again: it must not keep a process alive whose main thread has left.
#include "rcu/hazard_reclaimer.hpp"

#include <algorithm>

#include "rcu/reclamation.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

platform::atomic<std::uint32_t> hazard_reclaimer{no_hazard_reclaimer};
platform::atomic<std::uint64_t> start_hazard_reclaimer_again{0};

namespace {

// Between two attempts to start a thread that the system refuses, in nanoseconds.
constexpr std::uint64_t between_starts = 10'000'000;

// Pauses after which the thread ends although something is left: all of it is protected.
constexpr unsigned most_scans_in_vain = 60;
constexpr std::uint64_t longest_sleep = 1'000'000'000;
constexpr std::uint64_t longest_finish = 1'000'000'000;

// Of a thread that retires more than can be reclaimed.
constexpr std::uint64_t longest_wait = 10'000'000;
constexpr std::uint64_t between_looks_at_backlog = 100'000;

bool change_state(std::uint32_t from, std::uint32_t to) noexcept {
  return change(hazard_reclaimer, from, to);
}

void wake_all() noexcept {
  platform::futex_wake(platform::futex_of(hazard_reclaimer), INT32_MAX, ~0U);
}

// Sleeps for a pause. False if it was woken before.
bool sleep_for_a_pause() noexcept {
  go_offline();
  const platform::deadline until =
      platform::in(std::min(longest_pause_between_scans(), longest_sleep));
  // Again if the wake-up was meant for an earlier sleep.
  do {
    if (platform::futex_wait(platform::futex_of(hazard_reclaimer), hazard_reclaimer_asleep, ~0U,
                             &until) == platform::wake_reason::timed_out) {
      return true;
    }
  } while (hazard_reclaimer.load(platform::relaxed) == hazard_reclaimer_asleep);
  return false;
}

// Whether the thread has ended. A thread that retires either sees that, and starts it again, or
// this one sees what it has retired.
bool end_if_nothing_is_left() noexcept {
  if (!change_state(hazard_reclaimer_asleep, no_hazard_reclaimer)) return false;
  // (HP15) The end before the look at the lists. Pairs with (HP16).
  platform::full_fence_after_rmw(letter::HP15);
  if (is_mutant(mutant::hazard_reclaimer_ends_blindly) || !is_hazardous_left()) return true;
  // Unless another thread has started one.
  return !change_state(no_hazard_reclaimer, hazard_reclaimer_awake);
}

void end_finishing() noexcept {
  if (change_state(hazard_reclaimer_finishing, hazard_reclaimer_over)) wake_all();
}

void run_until_end() noexcept {
  unsigned in_vain = 0;
  for (;;) {
    // (HP17) Pairs with (HP16): a thread that is woken sees what its waker has retired.
    const bool is_last =
        hazard_reclaimer.load(at(letter::HP17, platform::acquire)) == hazard_reclaimer_finishing;
    const std::int64_t before = hazardous_objects();
    hazard_pointer_clean_up();
    if (is_last) return end_finishing();
    in_vain = hazardous_objects() == before ? in_vain + 1 : 0;
    if (!change_state(hazard_reclaimer_awake, hazard_reclaimer_asleep)) {
      // The process is ending; or this is the child of a fork, where another one may be started.
      if (hazard_reclaimer.load(platform::relaxed) == hazard_reclaimer_finishing) continue;
      return;
    }
    if (!sleep_for_a_pause()) {
      in_vain = 0;
    } else if (is_hazardous_left() && in_vain < most_scans_in_vain) {
      change_state(hazard_reclaimer_asleep, hazard_reclaimer_awake);
    } else if (in_vain >= most_scans_in_vain) {
      change_state(hazard_reclaimer_asleep, no_hazard_reclaimer);
      return;
    } else if (end_if_nothing_is_left()) {
      return;
    }
  }
}

void start() noexcept {
  const std::uint64_t again = start_hazard_reclaimer_again.load(platform::relaxed);
  if (again != 0 && platform::now() < again) return;
  if (!change_state(no_hazard_reclaimer, hazard_reclaimer_awake)) return;
  watch_process_exit();
  if (platform::start_thread([](void*) noexcept { run_until_end(); }, nullptr)) {
    start_hazard_reclaimer_again.store(0, platform::relaxed);
    return;
  }
  start_hazard_reclaimer_again.store(platform::now() + between_starts, platform::relaxed);
  change_state(hazard_reclaimer_awake, no_hazard_reclaimer);
}

void wait_for_smaller_backlog() noexcept {
  const platform::deadline until = platform::in(longest_wait);
  while (is_hazardous_far_above_limit() && platform::time_left(until) != 0) {
    go_offline();
    platform::sleep_for(between_looks_at_backlog);
  }
}

}  // namespace

void tell_hazard_reclaimer(bool is_scan_due) noexcept {
  // (HP16) The object on its list before the look at the thread. Pairs with (HP15), (HP17).
  platform::full_fence_after_rmw(letter::HP16);
  const std::uint32_t state = hazard_reclaimer.load(platform::relaxed);
  if (state == no_hazard_reclaimer) [[unlikely]]
    start();
  if (!is_scan_due || state == hazard_reclaimer_over) return;
  if (state == hazard_reclaimer_asleep &&
      change_state(hazard_reclaimer_asleep, hazard_reclaimer_awake)) {
    wake_all();
  }
  if (!is_in_section(0) && is_hazardous_far_above_limit()) wait_for_smaller_backlog();
}

void finish_hazard_reclaimer() noexcept {
  for (;;) {
    const std::uint32_t state = hazard_reclaimer.load(platform::relaxed);
    if (state == hazard_reclaimer_over) return;
    const bool exists = state != no_hazard_reclaimer;
    if (!change_state(state, exists ? hazard_reclaimer_finishing : hazard_reclaimer_over)) continue;
    if (exists) break;
    // The system has refused the thread, or it has ended because all was protected.
    if (is_left_to_hazard_reclaimer()) hazard_pointer_clean_up();
    return;
  }
  wake_all();
  const platform::deadline until = platform::in(longest_finish);
  while (hazard_reclaimer.load(platform::relaxed) == hazard_reclaimer_finishing &&
         platform::time_left(until) != 0) {
    go_offline();
    platform::futex_wait(platform::futex_of(hazard_reclaimer), hazard_reclaimer_finishing, ~0U,
                         &until);
  }
  hazard_reclaimer.store(hazard_reclaimer_over, platform::relaxed);
}

void forget_hazard_reclaimer() noexcept {
  if (hazard_reclaimer.load(platform::relaxed) != hazard_reclaimer_over) {
    hazard_reclaimer.store(no_hazard_reclaimer, platform::relaxed);
  }
}

}  // namespace readmost::detail
