// Retiring objects and waiting for their deleters: callbacks, barriers (RCU 3.1).
#include "rcu/reclamation.hpp"

#include "rcu/backlog.hpp"
#include "rcu/misuse.hpp"
#include "rcu/retired_queue.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

constinit reclamation all_reclamation[max_domains];

namespace {

void schedule_as(domain& d, retired& object, const retired_kind* kind) noexcept {
  reclamation& r = reclamation_of(d);
  object.kind = kind;
  const std::size_t bytes = bytes_of(kind);
  thread_record* const me = enlist(number_of(d));
  if (me == nullptr) {
    push(r.unrecorded_latest, object, letter::Y1);
  } else if (push(me->retired_latest, object, letter::Y1)) {
    // (Y6) Pairs with (Y5).
    chunk_of(*me).retiring.fetch_or(std::uint64_t{1} << number_of(*me),
                                    at(letter::Y6, platform::release));
  }
  const bool due = count(r, me, bytes);
  // (Y13) Queued before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y13);
  if (!runs(r)) [[unlikely]] {
    start_reclaimer(d);
    if (due && !runs(r)) reclaim_in_place(d, r, false);
  }
  wake_reclaimer(r);
  if (due && is_above_limit(r)) [[unlikely]] {
    throttle(d, r);
  }
}

}  // namespace

std::uint32_t take_barrier(reclamation& r) noexcept {
  // (Y9) Pairs with (Y8).
  const std::uint32_t barrier =
      r.barriers_wanted.fetch_add(1, at(letter::Y9, platform::release)) + 1;
  // (Y14) The number before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y14);
  wake_reclaimer(r);
  return barrier;
}

bool await_barrier(reclamation& r, std::uint32_t barrier,
                   const platform::deadline* until) noexcept {
  for (;;) {
    // (Y11) Pairs with (Y10).
    const std::uint32_t done = r.barriers_done.load(at(letter::Y11, platform::acquire));
    if (static_cast<std::int32_t>(done - barrier) >= 0) return true;
    if (!runs(r)) return false;
    go_offline();
    if (platform::futex_wait(platform::futex_of(r.barriers_done), done, ~0U, until) ==
        platform::wake_reason::timed_out) {
      return false;
    }
  }
}

void schedule(domain& d, retired& object, const retired_kind& kind) noexcept {
  if (checks_misuse() && object.kind != nullptr) {
    // Queued again it would cut off the queue behind it, or be reclaimed twice.
    diagnose_misuse(misuse::retired_twice, number_of(d), __builtin_return_address(0));
    return;
  }
  schedule_as(d, object, &kind);
}

// The object's words may have any value before, so nothing can be checked.
void schedule_call(domain& d, retired& object, retired_call function, std::size_t bytes) noexcept {
  schedule_as(d, object, kind_of_call(function, bytes));
}

void barrier(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_executor(d)) {
    diagnose_misuse(misuse::barrier_inside_deleter, number_of(d), __builtin_return_address(0));
    reclaim_done(r);
    reclaim_all(d, r, true);
    return;
  }
  if (is_in_section(number_of(d))) {
    diagnose_misuse(misuse::barrier_inside, number_of(d), __builtin_return_address(0));
  }
  const std::uint32_t barrier = take_barrier(r);
  while (!await_barrier(r, barrier, nullptr)) {
    execute(d, r);
    reclaim_all(d, r, true);
    stop_executing(d, r);
  }
}

void hurry(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  r.hurried.store(true, platform::relaxed);
  if (runs(r)) {
    wake_reclaimer(r);
  } else {
    reclaim_in_place(d, r, false);
  }
}

void limit_backlog(domain& d, backlog_limit limit) noexcept {
  reclamation& r = reclamation_of(d);
  r.most_objects.store(limit.objects, platform::relaxed);
  r.most_bytes.store(limit.bytes, platform::relaxed);
}

void reclaim_by(domain& d, reclaiming who) noexcept {
  reclamation_of(d).in_place.store(who == reclaiming::in_place, platform::relaxed);
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
