// SPDX-License-Identifier: Apache-2.0
// The executor of a domain moves retired objects from the queues to their deleters. One thread is
// the executor at a time: the reclaimer (reclaimer.cpp) or, without one, a thread that retires or
// waits in barrier().
//
// Each thread queues the objects that it retires in its own record, without disturbing the others.
// From there the objects pass through three lists:
//   next     the queues themselves: their grace period has not been chosen yet
//   current  collected; waits for the grace period that began after that
//   done     its grace period is over; being reclaimed, oldest first
//
// A deleter may retire, wait for grace periods, lock, call barrier(), and close the domain. The
// executor holds no lock while it runs one. barrier() inside a deleter goes on with the lists as
// the same executor, unless another thread has taken its place meanwhile (relief.cpp): the thread
// that was replaced then only finishes its deleter.
#include <readmost/detail/threads/spinning.hpp>

#include "platform/tools.hpp"
#include "rcu/backlog.hpp"
#include "rcu/deleter_run.hpp"
#include "rcu/misuse.hpp"
#include "rcu/reclamation.hpp"
#include "rcu/retired_queue.hpp"
#include "rcu/stall.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

enum : std::uint32_t { executor_free, executor_taken, executor_awaited };

// The domains whose executor the calling thread is, as bits; unless it has been replaced and has
// not noticed yet.
READMOST_THREAD_LOCAL std::uint32_t executes;
// Its innermost run, of any domain.
READMOST_THREAD_LOCAL deleter_run* own_runs;
READMOST_THREAD_LOCAL std::int32_t own_identity;

std::uint32_t bit_of(const domain& d) noexcept {
  return 1U << number_of(d);
}

void tell_reclaimed(reclamation& r, std::int64_t objects, std::uint64_t bytes) noexcept {
  r.objects.fetch_sub(objects, platform::relaxed);
  r.bytes.fetch_sub(static_cast<std::int64_t>(bytes), platform::relaxed);
  r.reclaimed.fetch_add(static_cast<std::uint64_t>(objects), platform::relaxed);
  // (Y15) Pairs with (Y16): a thread that sleeps on the new number has seen the account.
  r.reclaimed_some.fetch_add(1, at(letter::Y15, platform::release));
  // (Y7) The number is raised before the check for sleepers: either this thread sees the sleeper
  // announced, or the sleeper's futex call sees the new number.
  platform::full_fence_after_rmw(letter::Y7);
  if (r.throttled.load(platform::relaxed) != 0 && is_well_below_limit(r)) {
    platform::futex_wake(platform::futex_of(r.reclaimed_some), INT32_MAX, ~0U);
  }
}

// Appends the queues of the threads of `c` to the list that ends in `tail`; returns the new end.
platform::variable<retired*>* append_queues(chunk& c, platform::variable<retired*>* tail) noexcept {
  // (Y5) Pairs with (Y6): the marked queues are not empty.
  for (std::uint64_t left = c.retiring.exchange(0, at(letter::Y5, platform::acquire)); left != 0;
       left &= left - 1) {
    tail = append_oldest_first(c.records[__builtin_ctzll(left)].retired_latest, tail);
  }
  return tail;
}

#if defined(READMOST_FAULTS)
#include <mutants/reclamation.hpp>
#endif

// Moves next to current.
void collect(domain& d, reclamation& r) noexcept {
  const closed_gate moving(r.moving);
  platform::variable<retired*> first{};
  auto* tail = &first;
  if constexpr (platform::forks) {
    first = r.early;
    r.early = nullptr;
    r.has_early.store(false, platform::relaxed);
    tail = end_of(first);
  }
  tail = append_oldest_first(r.unrecorded_latest, tail);
  for_each_chunk(d, [&](chunk& c) {
    if (c.retiring.load(platform::relaxed) == 0) return true;
    tail = READMOST_VARIANT(forgets_a_queue, append_queues(c, tail),
                            append_all_queues_but_the_last(c, tail, &first));
    return true;
  });
  r.current = first;
  if (r.current == nullptr) return;
  r.current_grace_period = grace_period_from_now(d);
  if (r.laziness.load(platform::relaxed) != 0) {
    r.collected_at.store(platform::now(), platform::relaxed);
  }
}

// Moves current, if there is one, to done, and reclaims. Its grace period is over.
bool reclaim_current(domain& d, reclamation& r) noexcept {
  if (r.current != nullptr) {
    const closed_gate moving(r.moving);
    retired* const done = r.current;
    r.current = nullptr;
    r.done = done;
  }
  return reclaim_done(d, r);
}

// The same when the grace period is over. False if it is not and `wait` is false.
bool finish_current(domain& d, reclamation& r, bool wait) noexcept {
  if (r.current != nullptr) {
    if (wait) {
      const bool hurried = r.hurried.exchange(false, platform::relaxed);
      await_grace_period(d, r.current_grace_period, hurried ? urgency::hurry : urgency::normal);
    } else if (!try_advance(d, r.current_grace_period)) {
      return false;
    }
  }
  return reclaim_current(d, r);
}

// Whether the process is ending and the reclaimer has to stop. `reclaimer`: is_reclaimer().
bool has_to_stop(const reclamation& r, bool reclaimer = is_reclaimer()) noexcept {
  return reclaimer && is_process_over(r);
}

// --- Barriers

bool is_before(std::uint32_t one, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(one - other) < 0;
}

bool delays_barriers(const deleter_run& run) noexcept {
  if (is_mutant(mutant::nested_barrier_publishes) && run.is_of(identity_of_thread())) return false;
  return !(is_mutant(mutant::barrier_forgets_the_replaced) && run.is_replaced());
}

// Precondition: the gate is closed. Returns whether more barriers are done than before.
bool publish_barriers(reclamation& r) noexcept {
  std::uint32_t done = r.barriers_begun;
  for_each_run(r, [&](const deleter_run& run) {
    if (delays_barriers(run) && is_before(run.barriers_before(), done)) {
      done = run.barriers_before();
    }
  });
  if (done == r.barriers_done.load(platform::relaxed)) return false;
  tools::happens_before(&r.barriers_done);
  // (Y10) Pairs with (Y11): the deleters happen before the return of the barrier.
  r.barriers_done.store(done, at(letter::Y10, platform::release));
  return true;
}

void wake_barriers(const reclamation& r) noexcept {
  platform::futex_wake(platform::futex_of(r.barriers_done), INT32_MAX, ~0U);
}

// For the executor, when everything that it collected behind this barrier is reclaimed or, if it is
// in a deleter, has been begun.
void end_barriers(reclamation& r, std::uint32_t barrier) noexcept {
  const bool begins = is_before(r.barriers_begun, barrier);
  if (!begins && r.barriers_begun == r.barriers_done.load(platform::relaxed)) return;
  bool any = false;
  {
    const closed_gate moving(r.moving);
    if (begins) r.barriers_begun = barrier;
    any = publish_barriers(r);
  }
  if (any) wake_barriers(r);
}

// --- In deleters

// For each run of the calling thread in the domain, innermost first.
template <class Function>
void for_each_own_run(const reclamation& r, Function function) noexcept {
  for (deleter_run* run = own_runs; run != nullptr; run = run->outer_of_thread()) {
    if (run->is_in(r)) function(*run);
  }
}

// Null if it runs no deleter of the domain.
deleter_run* innermost(const reclamation& r) noexcept {
  deleter_run* found = nullptr;
  for_each_own_run(r, [&](deleter_run& run) {
    if (found == nullptr) found = &run;
  });
  return found;
}

deleter_run* outermost(const reclamation& r) noexcept {
  deleter_run* found = nullptr;
  for_each_own_run(r, [&](deleter_run& run) { found = &run; });
  return found;
}

bool others_run_deleters(reclamation& r) noexcept {
  bool any = false;
  const closed_gate moving(r.moving);
  for_each_run(r, [&](const deleter_run& run) { any |= !run.is_of(identity_of_thread()); });
  return any;
}

// In a deleter: has the thread go on as the executor, which cannot be replaced then. False if it
// has been replaced, or has not been the executor.
bool go_on_as_executor(domain& d, reclamation& r) noexcept {
  if ((executes & bit_of(d)) == 0) return false;
  const closed_gate moving(r.moving);
  const deleter_run* const run = innermost(r);
  if (run != nullptr && run->is_replaced()) {
    executes &= ~bit_of(d);
    return false;
  }
  r.in_deleter = false;
  return true;
}

void return_to_deleter(reclamation& r) noexcept {
  const closed_gate moving(r.moving);
  r.in_deleter = true;
}

// For a deleter: has `reclaim` done by the calling thread as the executor. False if there is
// another one, or if another has taken its place meanwhile.
template <class Function>
bool execute_in_deleter(domain& d, reclamation& r, Function reclaim) noexcept {
  const bool was_executor = go_on_as_executor(d, r);
  if (!was_executor && !try_execute(d, r)) return false;
  reclaim();
  const bool is_executor_still = (executes & bit_of(d)) != 0;
  if (!was_executor) {
    stop_executing(d, r);
  } else if (is_executor_still) {
    return_to_deleter(r);
  }
  return is_executor_still;
}

}  // namespace

std::int32_t identity_of_thread() noexcept {
  if (own_identity == 0) own_identity = platform::thread_id() + 1;
  return own_identity;
}

// --- Runs through deleters

deleter_run::deleter_run(domain& d, reclamation& r) noexcept
    : d_(d), r_(r), outer_of_thread_(own_runs) {
  own_runs = this;
}

deleter_run::~deleter_run() {
  own_runs = outer_of_thread_;
}

void deleter_run::link() noexcept {
  is_linked_ = true;
  barriers_before_ = static_cast<std::uint32_t>(r_.barriers_begun);
  outer_ = static_cast<deleter_run*>(r_.running);
  r_.running = this;
}

void deleter_run::unlink() noexcept {
  is_linked_ = false;
  auto* place = &r_.running;
  while (static_cast<deleter_run*>(*place) != this) {
    place = &static_cast<deleter_run*>(*place)->outer_;
  }
  *place = static_cast<deleter_run*>(outer_);
}

// The object is taken under the gate: the child of a fork must not find in the list an object that
// was reclaimed while its memory was being copied. And by it the relief knows what it interrupts.
retired* deleter_run::next() noexcept {
  const closed_gate moving(r_.moving);
  if (is_replaced_ && !is_mutant(mutant::replaced_goes_on)) {
    was_replaced_ = true;
    return nullptr;
  }
  retired* const object = r_.done;
  if (object == nullptr) {
    if (is_linked_) unlink();
    r_.in_deleter = false;
    return nullptr;
  }
  r_.done = static_cast<retired*>(object->next);
  has_more_ = r_.done != nullptr;
  if (!is_linked_) link();
  kind_ = kind_of(*object);
  since_ = looked_at_;
  ++r_.deleters_begun;
  r_.in_deleter = true;
  tools::happens_before(&r_.executor);  // whoever may take the executor's place
  return object;
}

void deleter_run::run(retired& object, const retired_kind* kind) noexcept {
  reclaim(object, kind);
  some_[count_++] = kind;
  if (count_ == most) look_at_clock();
}

void deleter_run::look_at_clock() noexcept {
  const std::uint64_t before = looked_at_;
  looked_at_ = platform::coarse_now();
  if (looked_at_ - before >= slow_deleter) [[unlikely]] {
    warn_of_slow_deleters(d_, some_, count_, looked_at_ - before, was_replaced_);
  }
  count_ = 0;
}

bool deleter_run::end() noexcept {
  if (!is_linked_) return true;
  bool any = false;
  tools::happens_before(&r_.barriers_done);  // whichever thread publishes them
  {
    const closed_gate moving(r_.moving);
    unlink();
    was_replaced_ = is_replaced_;
    if (counts_) r_.replaced.store(number_of_replaced(r_) - 1, platform::relaxed);
    if (!was_replaced_) r_.in_deleter = false;
    any = publish_barriers(r_);
  }
  if (any) wake_barriers(r_);
  if (was_replaced_) {
    executes &= ~bit_of(d_);
    platform::futex_wake(platform::futex_of(r_.replaced), INT32_MAX, ~0U);
  }
  return !was_replaced_;
}

// --- The right to execute

bool is_in_deleter(const domain& d) noexcept {
  return innermost(reclamation_of(d)) != nullptr;
}

bool is_in_any_deleter() noexcept {
  return own_runs != nullptr;
}

bool is_executor(const domain& d, reclamation& r) noexcept {
  if ((executes & bit_of(d)) == 0) return false;
  const closed_gate moving(r.moving);
  const deleter_run* const run = innermost(r);
  return run == nullptr || !run->is_replaced();
}

bool is_executing(const domain& d) noexcept {
  return (executes & bit_of(d)) != 0;
}

void take_place_of_executor(const domain& d) noexcept {
  tools::happens_after(&reclamation_of(d).executor);
  executes |= bit_of(d);
}

bool is_anything_queued(const domain& d, const reclamation& r) noexcept {
  if (r.unrecorded_latest.load(platform::relaxed) != nullptr) return true;
  if (platform::forks && r.has_early.load(platform::relaxed)) return true;
  return !for_each_chunk(d, [](const chunk& c) { return c.retiring.load(platform::relaxed) == 0; });
}

bool try_execute(domain& d, reclamation& r) noexcept {
  std::uint32_t free = executor_free;
  // (Y3) Pairs with (Y4): sees the lists as the last executor left them.
  if (!r.executor.compare_exchange_strong(free, executor_taken, at(letter::Y3, platform::acquire),
                                          platform::relaxed)) {
    return false;
  }
  tools::happens_after(&r.executor);
  executes |= bit_of(d);
  return true;
}

namespace {

// Sleeps until the executor stops, if there is one.
void await_executor(reclamation& r, const platform::deadline* until) noexcept {
  std::uint32_t taken = executor_taken;
  if (!r.executor.compare_exchange_strong(taken, executor_awaited, platform::relaxed,
                                          platform::relaxed) &&
      taken == executor_free) {
    return;
  }
  go_offline();
  platform::futex_wait(platform::futex_of(r.executor), executor_awaited, ~0U, until);
}

}  // namespace

void execute(domain& d, reclamation& r) noexcept {
  while (!try_execute(d, r)) await_executor(r, nullptr);
}

bool stop_executing(domain& d, reclamation& r) noexcept {
  const bool closed = r.ended_inside;
  if (closed) r.ended_inside = false;
  executes &= ~bit_of(d);
  tools::happens_before(&r.executor);
  // (Y4) Pairs with (Y3).
  if (r.executor.exchange(executor_free, at(letter::Y4, platform::release)) == executor_awaited &&
      !is_mutant(mutant::silent_executor)) {
    platform::futex_wake(platform::futex_of(r.executor), INT32_MAX, ~0U);
  }
  if (closed) give_back_closed(d, r);
  return closed;
}

// --- Reclaiming

bool reclaim_done(domain& d, reclamation& r) noexcept {
  // Read without the gate: outside of deleters the executor cannot be replaced.
  if (r.done == nullptr) return true;
  // A deleter may call this again; the nested call continues with the remaining objects.
  constexpr std::int64_t objects_until_told = 64;
  constexpr std::uint64_t time_until_told = 10'000'000;
  const bool checks = checks_misuse();
  const bool reclaimer = is_reclaimer();
  std::int64_t objects = 0;
  std::uint64_t bytes = 0;
  deleter_run deleters(d, r);
  std::uint64_t told = deleters.looked_at();
  bool stopped = false;
  while (!(stopped = has_to_stop(r, reclaimer))) {
    retired* const object = deleters.next();
    if (object == nullptr) break;
    if (reclaimer && deleters.has_more()) want_relief(d, r);
    const retired_kind* const kind = kind_of(*object);
    if (checks) object->kind = nullptr;  // no longer queued: a deleter may keep it
    bytes += bytes_of(kind);
    deleters.run(*object, kind);
    if (++objects == objects_until_told || deleters.looked_at() - told >= time_until_told) {
      tell_reclaimed(r, objects, bytes);
      objects = 0;
      bytes = 0;
      told = deleters.looked_at();
    }
  }
  deleters.look_at_clock();
  if (objects != 0) tell_reclaimed(r, objects, bytes);
  if (deleters.end()) return !stopped || r.done == nullptr;
  if (deleters.closes()) give_back_closed(d, r);
  return false;
}

bool reclaim_all(domain& d, reclamation& r, bool wait) noexcept {
  if (!finish_current(d, r, wait)) return true;
  // (Y8) Pairs with (Y9): all objects retired before the barrier are in the queues.
  const std::uint32_t barriers = r.barriers_wanted.load(at(letter::Y8, platform::acquire));
  collect(d, r);
  const bool any = r.current != nullptr;
  if (!finish_current(d, r, wait)) return true;
  end_barriers(r, barriers);
  return any;
}

progress reclaim_reported(domain& d, reclamation& r) noexcept {
  if (r.current == nullptr) {
    collect(d, r);
    if (r.current == nullptr) return progress::nothing;
  }
  // Threads that read all the time report at once.
  if (!spin_for(
          patience_for_reports(), [&] { return try_advance_by_reports(d, r.current_grace_period); },
          [](std::uint32_t) {})) {
    return progress::unreported;
  }
  reclaim_current(d, r);
  return progress::reclaimed;
}

void reclaim_until_empty(domain& d, reclamation& r) noexcept {
  while (reclaim_all(d, r, true) && is_executing(d) && !has_to_stop(r)) {
  }
}

constexpr std::uint64_t between_looks_at_executor = 1'000'000;

// Not for the objects whose deleters run: two deleters might wait for each other.
void await_in_deleter(domain& d, reclamation& r) noexcept {
  if (execute_in_deleter(d, r, [&] { reclaim_all(d, r, true); })) return;
  const std::uint32_t barrier = take_barrier(r);
  while (!have_deleters_begun(r, barrier) && !has_to_stop(r)) {
    if (execute_in_deleter(d, r, [&] { reclaim_all(d, r, true); })) continue;
    // Not for longer: the executor may be a deleter that waits for this one, to end the domain.
    const platform::deadline until = platform::in(between_looks_at_executor);
    await_executor(r, &until);
  }
}

void end_in_deleter(domain& d, reclamation& r) noexcept {
  for (;;) {
    // Other deleters may retire until they return.
    const bool is_alone = !others_run_deleters(r);
    const bool is_empty = execute_in_deleter(d, r, [&] { reclaim_until_empty(d, r); });
    if ((is_alone && is_empty) || has_to_stop(r)) break;
    go_offline();
    platform::sleep_for(between_looks);
  }
  if (is_executor(d, r)) {
    const closed_gate moving(r.moving);
    r.ended_inside = true;
  } else {
    const closed_gate moving(r.moving);
    outermost(r)->close();
  }
}

void await_late_deleters(reclamation& r) noexcept {
  constexpr std::uint64_t longest_sleep = 1'000'000'000;
  const std::uint32_t replaced = number_of_replaced(r);
  if (replaced == 0) return;
  go_offline();
  const platform::deadline until = platform::in(longest_sleep);
  platform::futex_wait(platform::futex_of(r.replaced), replaced, ~0U, &until);
}

// --- For those who wait

bool have_deleters_begun(reclamation& r, std::uint32_t barrier) noexcept {
  if (number_of_replaced(r) == 0) return false;
  const closed_gate moving(r.moving);
  return !is_before(r.barriers_begun, barrier);
}

void look_at_running_deleter(const domain& d, reclamation& r) noexcept {
  const retired_kind* kind = nullptr;
  std::uint64_t since = UINT64_MAX;
  bool is_replaced = false;
  {
    const closed_gate moving(r.moving);
    for_each_run(r, [&](const deleter_run& run) {
      if (run.since() >= since) return;
      kind = run.kind();
      since = run.since();
      is_replaced = run.is_replaced();
    });
  }
  const std::uint64_t now = platform::coarse_now();
  if (kind != nullptr && now > since && now - since >= slow_deleter) {
    warn_of_running_deleter(d, kind, now - since, is_replaced);
  }
}

bool other_runs_deleter_since(reclamation& r, std::uint64_t time) noexcept {
  bool any = false;
  const std::uint64_t now = platform::coarse_now();
  const closed_gate moving(r.moving);
  for_each_run(r, [&](const deleter_run& run) {
    any |= !run.is_of(identity_of_thread()) && now < run.since() + time;
  });
  return any;
}

// --- In the child of a fork

void deleter_run::survive_fork(bool takes_its_place) noexcept {
  if (takes_its_place) is_replaced_ = counts_ = false;
  barriers_before_ = static_cast<std::uint32_t>(r_.barriers_begun);
  if (counts_) r_.replaced.store(number_of_replaced(r_) + 1, platform::relaxed);
}

void deleter_run::append_to(platform::variable<deleter_run*>*& end) noexcept {
  *end = this;
  outer_ = nullptr;
  end = &outer_;
}

void forget_other_executors(const domain& d, reclamation& r) noexcept {
  const deleter_run* const at = innermost(r);
  // Then it takes the executor's place again.
  const bool was_replaced = at != nullptr && at->is_replaced();
  if (was_replaced) {
    take_place_of_executor(d);
    take_place_of_reclaimer_again(d);
  }
  const bool executes_it = is_executing(d);
  r.executor.store(executes_it ? executor_taken : executor_free, platform::relaxed);
  r.barriers_begun = r.barriers_wanted.load(platform::relaxed);
  r.in_deleter = executes_it && at != nullptr;
  r.replaced.store(0, platform::relaxed);
  r.running = nullptr;
  auto* end = &r.running;
  for_each_own_run(r, [&](deleter_run& run) {
    run.survive_fork(was_replaced);
    run.append_to(end);
  });
  if (!executes_it) r.ended_inside = false;
}

}  // namespace readmost::detail
