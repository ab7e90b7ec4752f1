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
#include "rcu/backlog.hpp"
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

void begin_to_finish(domain& d, reclamation& r) noexcept {
  if (!may_wait_for(d) || has_no_thread(r)) return;
  if (!runs(r) && is_anything_queued(d, r)) start_reclaimer(d);
  end_when_empty(r, reclamation::finishing);
}

void reclaim_in_place_until_empty(domain& d, reclamation& r, patience& left) noexcept {
  do {
    if (try_execute(d, r)) {
      const bool any = reclaim_all(d, r, false);
      if (stop_executing(d, r) || !any) return;
    }
    go_offline();
    platform::sleep_for(between_looks);
  } while (left.is_left());
}

void await_reclaimer(reclamation& r, patience& left) noexcept {
  while (runs(r) && left.is_left()) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (state != reclamation::closing && state != reclamation::finishing) return;
    go_offline();
    platform::futex_wait(platform::futex_of(r.reclaimer), state, ~0U, &left.stall());
  }
}

void finish(domain& d, reclamation& r, patience& left) noexcept {
  if (is_executor(d, r)) return;  // exit() in a deleter
  if (may_wait_for(d)) {
    if (has_no_thread(r)) {
      reclaim_in_place_until_empty(d, r, left);
    } else {
      await_reclaimer(r, left);
    }
  }
  r.reclaimer.store(reclamation::over, platform::relaxed);
  for (const auto* word : {&r.reclaimer, &r.reclaimed_some, &r.barriers_done, &r.replaced}) {
    platform::futex_wake(platform::futex_of(*word), INT32_MAX, ~0U);
  }
}

void finish_all() noexcept {
  static platform::atomic<bool> is_finished{false};
  if (is_finished.exchange(true, platform::relaxed)) return;
  for (domain& d : domains) begin_to_finish(d, reclamation_of(d));
  patience left;
  for (domain& d : domains) finish(d, reclamation_of(d), left);
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
