// The reclaimer: a thread of the library that is the executor of a domain, and sleeps while nothing
// is queued. The first retirement starts it. If it must not or cannot be started, the threads that
// retire reclaim in place.
#include "rcu/backlog.hpp"
#include "rcu/reclamation.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// The domain whose reclaimer the calling thread is.
READMOST_THREAD_LOCAL const domain* reclaims;

bool is_barrier_wanted(const reclamation& r) noexcept {
  return r.barriers_wanted.load(platform::relaxed) != r.barriers_done.load(platform::relaxed);
}

void sleep_unless_needed(domain& d, reclamation& r) noexcept {
  if (!change(r.reclaimer, reclamation::awake, reclamation::asleep)) return;
  // (Y12) Marked asleep before the queues are checked. Pairs with (Y13), (Y14): either this thread
  // sees the queued objects and the requests, or the other thread sees that it has to wake this
  // one.
  platform::full_fence_after_rmw(letter::Y12);
  if (is_anything_queued(d, r) || is_barrier_wanted(r)) {
    change(r.reclaimer, reclamation::asleep, reclamation::awake);
    return;
  }
  go_offline();
  // Again if the wake-up was meant for an earlier sleep.
  do {
    platform::futex_wait(platform::futex_of(r.reclaimer), reclamation::asleep, ~0U, nullptr);
  } while (r.reclaimer.load(platform::relaxed) == reclamation::asleep &&
           !is_mutant(mutant::woken_is_awake));
}

void run_reclaimer(void* of_domain) noexcept {
  auto& d = *static_cast<domain*>(of_domain);
  reclamation& r = reclamation_of(d);
  reclaims = &d;
  change(r.reclaimer, reclamation::starting, reclamation::awake);
  for (;;) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (state == reclamation::over) return;
    if (state == reclamation::closing) {
      r.reclaimer.store(reclamation::not_started, platform::relaxed);
      platform::futex_wake(platform::futex_of(r.reclaimer), INT32_MAX, ~0U);
      return;
    }
    execute(d, r);
    const bool any = reclaim_all(d, r, true);
    stop_executing(d, r);
    if (!any) sleep_unless_needed(d, r);
  }
}

bool is_thread_forbidden() noexcept {
  char value[4];
  return platform::environment("READMOST_RCU_THREAD", value, sizeof value) && value[0] == '0' &&
         value[1] == '\0';
}

void reclaim_in_place_until(domain& d, reclamation& r, const platform::deadline& until) noexcept {
  while (!is_in_section(number_of(d))) {
    if (try_execute(d, r)) {
      const bool any = reclaim_all(d, r, false);
      stop_executing(d, r);
      if (!any) return;
    }
    if (platform::time_left(until) == 0) return;
    go_offline();
    platform::sleep_for(between_looks);
  }
}

// The end of the process waits at most so long for readers and deleters.
constexpr std::uint64_t longest_exit = 1'000'000'000;

// Reclaims all retired objects, then stops the reclaimer, which must not run beside the destructors
// of static objects.
void finish_at_process_exit(domain& d, const platform::deadline& until) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_executor(d)) return;
  if (!runs(r)) {
    reclaim_in_place_until(d, r, until);
    return;
  }
  if (!is_in_section(number_of(d))) await_barrier(r, take_barrier(r), &until);
  r.reclaimer.store(reclamation::over, platform::relaxed);
}

}  // namespace

bool is_reclaimer() noexcept {
  return reclaims != nullptr;
}
bool is_reclaimer(const domain& d) noexcept {
  return reclaims == &d;
}

void reclaim_in_place(domain& d, reclamation& r, bool wait) noexcept {
  // Not inside a section: a deleter may wait for a grace period.
  if (is_executor(d) || is_in_section(number_of(d)) || !try_execute(d, r)) return;
  reclaim_all(d, r, wait);
  stop_executing(d, r);
}

void watch_lives() noexcept {
  add_reclamation_part();
  static platform::atomic<std::uint32_t> watching{0};
  if (watching.exchange(1, platform::relaxed) != 0) return;
  platform::at_process_exit([] {
    const platform::deadline until = platform::in(longest_exit);
    for (domain& d : domains) finish_at_process_exit(d, until);
  });
}

void start_reclaimer(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (r.in_place.load(platform::relaxed) ||
      !change(r.reclaimer, reclamation::not_started, reclamation::starting))
    return;
  watch_lives();
  if (!is_thread_forbidden() && platform::start_thread(run_reclaimer, &d)) return;
  r.in_place.store(true, platform::relaxed);
  r.reclaimer.store(reclamation::not_started, platform::relaxed);
}

void close_reclamation(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  barrier(d);
  for (;;) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (state == reclamation::not_started || state == reclamation::over) break;
    if (state != reclamation::closing && !change(r.reclaimer, state, reclamation::closing))
      continue;
    if (state == reclamation::asleep) platform::futex_wake(platform::futex_of(r.reclaimer), 1, ~0U);
    go_offline();
    platform::futex_wait(platform::futex_of(r.reclaimer), reclamation::closing, ~0U, nullptr);
  }
  limit_backlog(d, backlog_limit{});
  r.in_place.store(false, platform::relaxed);
  r.hurried.store(false, platform::relaxed);
}

}  // namespace readmost::detail
