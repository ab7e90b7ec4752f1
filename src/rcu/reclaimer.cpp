// SPDX-License-Identifier: Apache-2.0
// The reclaimer: a thread of the library that is the executor of a domain, and sleeps while nothing
// is queued. The first retirement starts it. After a pause it ends, and the next retirement starts
// it again: a process in which main() has called pthread_exit() ends with its last thread, which
// must not be this one. Where it must not be started, the threads that retire reclaim in place;
// where it cannot be started, objects wait until it can, or for a barrier.
//
// A grace period may take a membarrier, which interrupts every CPU of the process. So the reclaimer
// is lazy: an object that is retired soon after the last collection waits for company, unless
// somebody waits for its deleter or much has gathered. What has gathered waits once more, for the
// readers to report by themselves, as each does that reads meanwhile; a membarrier is for those
// that do not. The first object after a pause does not wait.
#include "rcu/backlog.hpp"
#include "rcu/deleter_run.hpp"
#include "rcu/reclamation.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// The domain whose reclaimer the calling thread is.
READMOST_THREAD_LOCAL const domain* reclaims;

bool is_barrier_wanted(const reclamation& r) noexcept {
  return r.barriers_wanted.load(platform::relaxed) != r.barriers_done.load(platform::relaxed);
}

bool is_needed(const domain& d, const reclamation& r, bool lazy) noexcept {
  return is_barrier_wanted(r) || (lazy ? has_gathered(r) : is_anything_queued(d, r));
}

// A reclaimer that has had nothing to do for so long ends, in nanoseconds.
constexpr std::uint64_t longest_idleness = 2'000'000'000;

// Sleeps in the state `rest`, lazy or asleep, unless something is to be done. Returns whether it
// has slept for `nanoseconds`; then the state is `then`.
bool sleep_unless_needed(domain& d, reclamation& r, std::uint32_t rest, std::uint64_t nanoseconds,
                         std::uint32_t then) noexcept {
  if (!change(r.reclaimer, reclamation::awake, rest)) return false;
  // (Y12) Marked asleep before the queues are checked. Pairs with (Y13), (Y14): either this thread
  // sees the queued objects and the requests, or the other thread sees that it has to wake this
  // one.
  platform::full_fence_after_rmw(letter::Y12);
  if (is_needed(d, r, rest == reclamation::lazy)) {
    change(r.reclaimer, rest, reclamation::awake);
    return false;
  }
  go_offline();
  const platform::deadline until = platform::in(nanoseconds);
  // Again if the wake-up was meant for an earlier sleep.
  do {
    if (platform::futex_wait(platform::futex_of(r.reclaimer), rest, ~0U, &until) ==
        platform::wake_reason::timed_out) {
      return change(r.reclaimer, rest, then);
    }
  } while (r.reclaimer.load(platform::relaxed) == rest && !is_mutant(mutant::woken_is_awake));
  return false;
}

// Returns whether the reclaimer has ended. Whoever has queued an object wakes it by a
// compare-and-swap, or finds that it has ended.
bool sleep_until_needed(domain& d, reclamation& r) noexcept {
  return sleep_unless_needed(d, r, reclamation::asleep, longest_idleness, reclamation::not_started);
}

// Returns whether the reclaimer may go on being lazy.
bool gather(domain& d, reclamation& r) noexcept {
  const std::uint64_t laziness = r.laziness.load(platform::relaxed);
  if (laziness == 0) return false;
  const std::uint64_t since = platform::now() - r.collected_at.load(platform::relaxed);
  if (since >= laziness) return true;
  return sleep_unless_needed(d, r, reclamation::lazy, laziness - since, reclamation::awake);
}

// The times after which a lazy reclaimer looks whether all readers have reported: most have soon,
// and each look is a wake-up. In all less than the laziness, or than its default.
class looks_for_reports {
 public:
  void begin(const reclamation& r) noexcept {
    const std::uint64_t laziness = r.laziness.load(platform::relaxed);
    next_ = (laziness < default_laziness ? laziness : default_laziness) / 8;
    left_ = 3;
  }
  // Returns whether to look again, if nobody has come to wait.
  bool await_next(domain& d, reclamation& r) noexcept {
    if (left_ == 0) return false;
    --left_;
    const std::uint64_t time = next_;
    next_ *= 2;
    return sleep_unless_needed(d, r, reclamation::lazy, time, reclamation::awake);
  }

 private:
  std::uint64_t next_ = 0;  // nanoseconds
  unsigned left_ = 0;
};

// For the reclaimer of a domain that is closed, when it has nothing left to do.
void end(reclamation& r) noexcept {
  change(r.reclaimer, reclamation::closing, reclamation::not_started);
  platform::futex_wake(platform::futex_of(r.reclaimer), INT32_MAX, ~0U);
}

void run_reclaimer(void* of_domain) noexcept {
  auto& d = *static_cast<domain*>(of_domain);
  reclamation& r = reclamation_of(d);
  take_place_of_reclaimer(d);
  change(r.reclaimer, reclamation::starting, reclamation::awake);
  if (is_process_over(r)) return;
  execute(d, r);
  serve(d, r);
}

bool is_thread_forbidden() noexcept {
  char value[4];
  return platform::environment("READMOST_RCU_THREAD", value, sizeof value) && value[0] == '0' &&
         value[1] == '\0';
}

// Between two attempts to start a thread that the system refuses.
constexpr std::uint64_t between_starts = 10'000'000;

// Returns when there is no reclaimer, and no relief.
void await_end(reclamation& r) noexcept {
  if (end_when_empty(r)) {
    for (;;) {
      const std::uint32_t state = r.reclaimer.load(platform::relaxed);
      if (state == reclamation::not_started || state == reclamation::over) break;
      go_offline();
      platform::futex_wait(platform::futex_of(r.reclaimer), state, ~0U, nullptr);
    }
  }
  end_relief(r);
}

}  // namespace

bool is_reclaimer() noexcept {
  return reclaims != nullptr;
}
bool is_reclaimer(const domain& d) noexcept {
  return reclaims == &d &&
         reclamation_of(d).reclaimer_identity.load(platform::relaxed) == identity_of_thread();
}

void take_place_of_reclaimer(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  reclaims = &d;
  r.reclaimer_identity.store(identity_of_thread(), platform::relaxed);
  r.reclaimer_thread.store(platform::thread_id(), platform::relaxed);
}

void take_place_of_reclaimer_again(const domain& d) noexcept {
  if (reclaims != &d) return;
  reclamation_of(d).reclaimer_identity.store(identity_of_thread(), platform::relaxed);
}

namespace {

void serve_until_end(domain& d, reclamation& r) noexcept {
  bool is_lazy = false;
  looks_for_reports looks;
  for (;;) {
    // Late deleters may retire until they return.
    const bool is_alone = number_of_replaced(r) == 0 || is_mutant(mutant::ends_before_the_replaced);
    const bool was_lazy = is_lazy;
    const progress made = was_lazy                  ? reclaim_reported(d, r)
                          : reclaim_all(d, r, true) ? progress::reclaimed
                                                    : progress::nothing;
    if (!is_executing(d)) return;  // another thread serves the domain now
    if (stop_executing(d, r)) return;
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    is_lazy = false;
    if (state == reclamation::awake) {
      if (made == progress::unreported) {
        is_lazy = looks.await_next(d, r);
      } else if (made == progress::reclaimed) {
        is_lazy = gather(d, r);
        looks.begin(r);
      } else if (sleep_until_needed(d, r)) {
        return;
      }
    } else if (state == reclamation::closing && made == progress::nothing && !was_lazy) {
      if (is_alone) return end(r);
      await_late_deleters(r);
    }
    if (is_process_over(r)) return;
    execute(d, r);
  }
}

}  // namespace

void serve(domain& d, reclamation& r) noexcept {
  serve_until_end(d, r);
  std::int32_t own = identity_of_thread();
  r.reclaimer_identity.compare_exchange_strong(own, 0, platform::relaxed, platform::relaxed);
}

bool reclaim_in_place(domain& d, reclamation& r, bool wait) noexcept {
  // Not inside a section: a deleter may wait for a grace period.
  if (is_in_deleter(d) || is_in_section(number_of(d)) || !try_execute(d, r)) return false;
  reclaim_all(d, r, wait);
  return stop_executing(d, r);
}

bool reclaim_over(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_in_deleter(d) || is_in_section(number_of(d)) || !try_execute(d, r)) return true;
  reclaim_all(d, r, false);
  const bool left = r.current != nullptr || is_anything_queued(d, r);
  return !stop_executing(d, r) && left;
}

void start_reclaimer(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (runs(r) || has_no_thread(r)) return;
  const std::uint64_t again = r.start_again.load(platform::relaxed);
  if (again != 0 && platform::now() < again) return;
  if (!change(r.reclaimer, reclamation::not_started, reclamation::starting)) return;
  watch_lives();
  if (is_thread_forbidden()) {
    r.in_place.store(true, platform::relaxed);
  } else if (platform::start_thread(run_reclaimer, &d)) {
    r.start_again.store(0, platform::relaxed);
    return;
  } else {
    r.start_again.store(platform::now() + between_starts, platform::relaxed);
  }
  change(r.reclaimer, reclamation::starting, reclamation::not_started);
}

bool end_when_empty(reclamation& r) noexcept {
  for (;;) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (!runs(r)) return false;
    if (state == reclamation::closing) return true;
    if (!change(r.reclaimer, state, reclamation::closing)) continue;
    if (state == reclamation::asleep || state == reclamation::lazy) {
      platform::futex_wake(platform::futex_of(r.reclaimer), 1, ~0U);
    }
    return true;
  }
}

bool end_reclamation(domain& d, reclamation& r) noexcept {
  if (is_in_deleter(d)) {
    // The domain is used until the deleter returns.
    end_in_deleter(d, r);
    return false;
  }
  await_end(r);
  // What the reclaimer has left, if the process is ending or if there was none. The deleters that
  // it has run happen before the end of this.
  execute(d, r);
  reclaim_until_empty(d, r);
  return !stop_executing(d, r);
}

void give_back_closed(domain& d, reclamation& r) noexcept {
  if (!is_reclaimer(d)) {
    await_end(r);
  } else if (end_when_empty(r)) {
    end(r);
    end_relief(r);
  }
  limit_backlog(d, backlog_limit{});
  r.laziness.store(default_laziness, platform::relaxed);
  r.in_place.store(false, platform::relaxed);
  r.on_request.store(false, platform::relaxed);
  r.hurried.store(false, platform::relaxed);
  r.most_reclaimers.store(default_reclaimers, platform::relaxed);
  r.stalled_at.store(0, platform::relaxed);
  give_back_domain(number_of(d));
}

void close_reclamation(domain& d) noexcept {
  // It says so if the caller is in a section.
  if (!is_in_deleter(d)) barrier(d);
  reclamation& r = reclamation_of(d);
  if (end_reclamation(d, r)) give_back_closed(d, r);
}

}  // namespace readmost::detail
