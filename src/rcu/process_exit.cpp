// SPDX-License-Identifier: Apache-2.0
// The end of the process: what is retired is reclaimed while all static objects still exist.
//
// exit(3) and the return of main() first destroy the thread_local objects of the calling thread,
// then call what std::atexit() was given and destroy static objects, last come first. Deleters may
// use any of these objects. So the main thread notes an end of its own, which comes before, and
// there registers the function below: being the last to be registered it is the first to be called.
// Where another thread calls exit(), the first retirement has registered it.
//
// From then on nothing runs deleters but a thread that calls barrier(): a thread that retires in a
// destructor, or while others join it, holds locks that deleters take.
#include "platform/tools.hpp"
#include "rcu/backlog.hpp"
#include "rcu/hazard_reclaimer.hpp"
#include "rcu/reclamation.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// As long as nothing is reclaimed; in all; and then for the deleter that runs.
constexpr std::uint64_t longest_stall = 1'000'000'000;
constexpr std::uint64_t longest_exit = 10'000'000'000;
constexpr std::uint64_t longest_deleter = 1'000'000'000;
constexpr std::uint64_t between_looks_at_exit = 1'000'000;

std::uint64_t reclaimed_so_far() noexcept {
  std::uint64_t sum = 0;
  for (const reclamation& r : all_reclamation) sum += r.reclaimed.load(platform::relaxed);
  return sum;
}

// The patience of the thread that ends the process.
class patience {
 public:
  // Whether to go on waiting.
  bool is_left() noexcept {
    const std::uint64_t now = reclaimed_so_far();
    if (now != seen_) {
      seen_ = now;
      stall_ = platform::in(longest_stall);
    }
    return platform::time_left(stall_) != 0 && platform::time_left(end_) != 0;
  }
  const platform::deadline& stall() const noexcept { return stall_; }

 private:
  std::uint64_t seen_ = reclaimed_so_far();
  platform::deadline stall_ = platform::in(longest_stall);
  platform::deadline end_ = platform::in(longest_exit);
};

bool may_wait_for(const domain& d) noexcept {
  return !is_in_deleter(d) && !is_in_section(number_of(d));
}

bool is_done(const reclamation& r, std::uint32_t barrier) noexcept {
  // (Y11) Pairs with (Y10).
  const std::uint32_t done = r.barriers_done.load(at(letter::Y11, platform::acquire));
  if (static_cast<std::int32_t>(done - barrier) < 0) return false;
  tools::happens_after(&r.barriers_done);
  return true;
}

void reclaim_here(domain& d, reclamation& r, std::uint32_t barrier, patience& left) noexcept {
  while (!is_done(r, barrier) && left.is_left()) {
    if (try_execute(d, r)) {
      reclaim_all(d, r, false);
      if (stop_executing(d, r) || is_done(r, barrier)) return;
    }
    go_offline();
    platform::sleep_for(between_looks);
  }
}

void await_reclaimer(domain& d, reclamation& r, std::uint32_t barrier, patience& left) noexcept {
  for (;;) {
    // Before the look: what comes later wakes this thread.
    const std::uint32_t done = r.barriers_done.load(platform::relaxed);
    if (is_done(r, barrier) || !left.is_left()) return;
    // The system refuses the thread, or there is nothing for it to do.
    if (!runs(r)) return reclaim_here(d, r, barrier, left);
    go_offline();
    platform::futex_wait(platform::futex_of(r.barriers_done), done, ~0U, &left.stall());
  }
}

// Reclaims what is retired by now; returns whether deleters have retired more. What other threads
// go on retiring need not end, and may stay.
bool reclaim_once(patience& left) noexcept {
  std::uint32_t barriers[max_domains];
  for (domain& d : domains) {
    reclamation& r = reclamation_of(d);
    if (!may_wait_for(d)) continue;
    if (!has_no_thread(r) && !runs(r) && is_anything_queued(d, r)) start_reclaimer(d);
    // Before the barrier, which comes after what has been retired until then.
    r.deleters_retired.store(false, platform::relaxed);
    barriers[number_of(d)] = take_barrier(r);
  }
  for (domain& d : domains) {
    reclamation& r = reclamation_of(d);
    if (!may_wait_for(d)) continue;
    if (has_no_thread(r)) {
      reclaim_here(d, r, barriers[number_of(d)], left);
    } else {
      await_reclaimer(d, r, barriers[number_of(d)], left);
    }
  }
  // When all have been waited for: the deleters of one domain may retire in another.
  for (const domain& d : domains) {
    if (may_wait_for(d) && reclamation_of(d).deleters_retired.load(platform::relaxed)) return true;
  }
  return false;
}

void reclaim_until_empty(patience& left) noexcept {
  while (reclaim_once(left) && left.is_left()) {
  }
}

void finish(domain& d, reclamation& r) noexcept {
  if (is_executor(d, r)) return;  // exit() in a deleter
  r.reclaimer.store(reclamation::over, platform::relaxed);
  for (const auto* word : {&r.reclaimer, &r.reclaimed_some, &r.barriers_done, &r.replaced}) {
    platform::futex_wake(platform::futex_of(*word), INT32_MAX, ~0U);
  }
}

void finish_all() noexcept {
  static platform::atomic<bool> is_finished{false};
  if (is_finished.exchange(true, platform::relaxed)) return;
  is_process_ending.store(true, platform::relaxed);
  patience left;
  reclaim_until_empty(left);
  // The deleters of each may retire under the other.
  finish_hazard_reclaimer();
  reclaim_until_empty(left);
  for (domain& d : domains) finish(d, reclamation_of(d));
  // A deleter that runs may use static objects, whose destructors come next.
  const platform::deadline until = platform::in(longest_deleter);
  for (const domain& d : domains) {
    while (other_runs_deleter_since(reclamation_of(d), longest_deleter) &&
           platform::time_left(until) != 0) {
      go_offline();
      platform::sleep_for(between_looks_at_exit);
    }
  }
}

READMOST_EARLY void watch_main_thread() noexcept {
  platform::at_main_thread_end([] { platform::at_process_exit(finish_all); });
}

}  // namespace

void watch_process_exit() noexcept {
  static platform::atomic<bool> is_watched{false};
  if (!is_watched.exchange(true, platform::relaxed)) platform::at_process_exit(finish_all);
}

}  // namespace readmost::detail
