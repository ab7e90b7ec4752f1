// SPDX-License-Identifier: Apache-2.0
// Retiring objects and waiting for their deleters: callbacks, barriers (RCU 3.1).
#include "rcu/reclamation.hpp"

#include "rcu/backlog.hpp"
#include "rcu/misuse.hpp"
#include "rcu/retired_queue.hpp"
#include "rcu/stall.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

constinit reclamation all_reclamation[max_domains];
platform::atomic<bool> is_process_ending{false};

namespace {

constexpr std::uint64_t between_looks_in_barrier = 1'000'000'000;

void queue(reclamation& r, thread_record* me, retired& object) noexcept {
  if (me == nullptr) {
    push(r.unrecorded_latest, object, letter::Y1);
  } else if (push(me->retired_latest, object, letter::Y1)) {
    // (Y6) Pairs with (Y5).
    chunk_of(*me).retiring.fetch_or(std::uint64_t{1} << number_of(*me),
                                    at(letter::Y6, platform::release));
  }
}

// What a thread does once in a while, because it has just counted its objects.
void relieve(domain& d, reclamation& r, bool may_wait) noexcept {
  if (has_gathered(r)) wake_reclaimer_now(r);
  if (r.in_place.load(platform::relaxed) && !is_process_over(r) && reclaim_in_place(d, r, false)) {
    return;
  }
  if (may_wait && is_above_limit(r)) throttle(d, r);
}

void schedule_as(domain& d, retired& object, const retired_kind* kind, bool may_wait) noexcept {
  reclamation& r = reclamation_of(d);
  set_kind(object, kind);
  const std::size_t bytes = bytes_of(kind);
  thread_record* const me = enlist(number_of(d));
  queue(r, me, object);
  if (is_process_ending.load(platform::relaxed) && is_in_any_deleter()) {
    r.deleters_retired.store(true, platform::relaxed);
  }
  const bool due = count(r, me, bytes);
  // (Y13) Queued before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y13);
  if (is_mutant(mutant::woken_before_its_end) && !runs(r)) start_reclaimer(d);
  wake_reclaimer(r);
  // After that, since a reclaimer that cannot be woken may just have ended.
  const std::uint32_t state = r.reclaimer.load(platform::relaxed);
  if (!is_mutant(mutant::woken_before_its_end) && !is_running(state)) [[unlikely]]
    start_reclaimer(d);
  if (state == reclamation::awake) want_relief_of_reclaimer(d, r);
  if (due) relieve(d, r, may_wait);
}

// Whether there is room for another object. Does what is possible without waiting to make some.
bool has_room(domain& d, reclamation& r) noexcept {
  if (!is_above_limit(r)) [[likely]]
    return true;
  if (!runs(r)) start_reclaimer(d);
  wake_reclaimer_now(r);
  if (r.in_place.load(platform::relaxed) && !is_process_over(r)) reclaim_in_place(d, r, false);
  return !is_above_limit(r);
}

// Queued again it would cut off the queue behind it, or be reclaimed twice.
bool is_retired_already(const domain& d, const retired& object, const retired_kind& kind,
                        const void* caller) noexcept {
  if (!checks_misuse() || kind_of(object) != &kind) return false;
  diagnose_misuse(misuse::retired_twice, number_of(d), caller);
  return true;
}

}  // namespace

void watch_lives() noexcept {
  add_reclamation_part();
  watch_process_exit();
  tell_stalls_of_backlog(statistics_of);
}

std::uint32_t take_barrier(reclamation& r) noexcept {
  // (Y9) Pairs with (Y8).
  const std::uint32_t barrier =
      r.barriers_wanted.fetch_add(1, at(letter::Y9, platform::release)) + 1;
  // (Y14) The number before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y14);
  wake_reclaimer_now(r);
  return barrier;
}

bool await_barrier(domain& d, reclamation& r, std::uint32_t barrier) noexcept {
  for (;;) {
    // (Y11) Pairs with (Y10).
    const std::uint32_t done = r.barriers_done.load(at(letter::Y11, platform::acquire));
    if (static_cast<std::int32_t>(done - barrier) >= 0) {
      tools::happens_after(&r.barriers_done);
      return true;
    }
    // Without a reclaimer the caller does its work, unless only deleters that run are lacking.
    if (!runs(r) && !have_deleters_begun(r, barrier)) return false;
    go_offline();
    // Looks again by itself, because the reclaimer may end with the process just now.
    const platform::deadline until = platform::in(between_looks_in_barrier);
    if (platform::futex_wait(platform::futex_of(r.barriers_done), done, ~0U, &until) ==
        platform::wake_reason::timed_out) {
      look_at_running_deleter(d, r);
    }
  }
}

void schedule(domain& d, retired& object, const retired_kind& kind) noexcept {
  if (is_retired_already(d, object, kind, __builtin_return_address(0))) return;
  schedule_as(d, object, &kind, true);
}

bool try_schedule(domain& d, retired& object, const retired_kind& kind) noexcept {
  if (is_retired_already(d, object, kind, __builtin_return_address(0))) return true;
  if (!has_room(d, reclamation_of(d))) return false;
  schedule_as(d, object, &kind, false);
  return true;
}

// The object's words may have any value before, so nothing can be checked.
void schedule_call(domain& d, retired& object, retired_call function, std::size_t bytes) noexcept {
  schedule_as(d, object, kind_of_call(function, bytes), true);
}

bool try_schedule_call(domain& d, retired& object, retired_call function,
                       std::size_t bytes) noexcept {
  if (!has_room(d, reclamation_of(d))) return false;
  schedule_as(d, object, kind_of_call(function, bytes), false);
  return true;
}

void barrier(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_in_deleter(d)) {
    diagnose_misuse(misuse::barrier_inside_deleter, number_of(d), __builtin_return_address(0));
    await_in_deleter(d, r);
    return;
  }
  if (is_in_section(number_of(d))) {
    diagnose_misuse(misuse::barrier_inside, number_of(d), __builtin_return_address(0));
  }
  if (!runs(r) && is_anything_queued(d, r)) start_reclaimer(d);
  const std::uint32_t barrier = take_barrier(r);
  while (!await_barrier(d, r, barrier)) {
    execute(d, r);
    reclaim_all(d, r, true);
    if (stop_executing(d, r)) return;
  }
}

void hurry(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  r.hurried.store(true, platform::relaxed);
  if (r.in_place.load(platform::relaxed)) {
    if (!is_process_over(r)) reclaim_in_place(d, r, false);
    return;
  }
  if (!runs(r) && is_anything_queued(d, r)) start_reclaimer(d);
  // A barrier that nobody waits for.
  if (runs(r)) take_barrier(r);
}

void limit_backlog(domain& d, backlog_limit limit) noexcept {
  reclamation& r = reclamation_of(d);
  r.most_objects.store(limit.objects, platform::relaxed);
  r.most_bytes.store(limit.bytes, platform::relaxed);
  r.policy.store(limit.policy, platform::relaxed);
}

backlog_limit limit_of_backlog(const domain& d) noexcept {
  const reclamation& r = reclamation_of(d);
  return {r.most_objects.load(platform::relaxed), r.most_bytes.load(platform::relaxed),
          r.policy.load(platform::relaxed)};
}

void limit_laziness(domain& d, std::uint64_t nanoseconds) noexcept {
  reclamation& r = reclamation_of(d);
  r.laziness.store(nanoseconds, platform::relaxed);
  wake_reclaimer_now(r);
}

void limit_reclaimers(domain& d, std::uint32_t most) noexcept {
  reclamation_of(d).most_reclaimers.store(most, platform::relaxed);
}

void reclaim_by(domain& d, reclaiming who) noexcept {
  reclamation_of(d).in_place.store(who == reclaiming::in_place, platform::relaxed);
  reclamation_of(d).on_request.store(who == reclaiming::on_request, platform::relaxed);
  watch_lives();
}

rcu_statistics statistics_of(domain& d) noexcept {
  const reclamation& r = reclamation_of(d);
  std::int64_t objects = r.objects.load(platform::relaxed);
  std::int64_t bytes = r.bytes.load(platform::relaxed);
  for_each_record(d, [&](const thread_record& record, bool) {
    objects += record.uncounted_objects.load(platform::relaxed);
    bytes += static_cast<std::int64_t>(record.uncounted_bytes.load(platform::relaxed));
  });
  rcu_statistics figures{};
  figures.grace_periods = d.grace_periods.load(platform::relaxed) / one_grace_period;
  figures.by_membarrier = d.grace_periods_by_membarrier.load(platform::relaxed);
  figures.asleep = d.grace_periods_asleep.load(platform::relaxed);
  figures.reclaimed = r.reclaimed.load(platform::relaxed);
  figures.waiting = objects > 0 ? static_cast<std::uint64_t>(objects) : 0;
  figures.waiting_bytes = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  figures.retired = figures.reclaimed + figures.waiting;
  figures.waits_for = d.waits_for.load(platform::relaxed);
  figures.waits_since = figures.waits_for != 0 ? d.waits_since.load(platform::relaxed) : 0;
  return figures;
}

}  // namespace readmost::detail
