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
// the same executor.
#include "platform/tools.hpp"
#include "rcu/backlog.hpp"
#include "rcu/misuse.hpp"
#include "rcu/reclamation.hpp"
#include "rcu/retired_queue.hpp"
#include "rcu/stall.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

enum : std::uint32_t { executor_free, executor_taken, executor_awaited };

// The domains whose executor the calling thread is, as bits.
READMOST_THREAD_LOCAL std::uint32_t executes;

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

// Takes the oldest object that is done; null if there is none. The child of a fork must not find in
// the list an object that was reclaimed while its memory was being copied.
retired* take_done(reclamation& r) noexcept {
  if (r.done == nullptr) return nullptr;
  const auto take = [&] {
    retired* const object = r.done;
    r.done = object->next;
    return object;
  };
  if constexpr (!platform::forks) return take();
  const closed_gate moving(r.moving);
  return take();
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
  if (r.laziness.load(platform::relaxed) != 0) r.collected_at = platform::now();
}

// Moves current to done, and reclaims. False if the grace period is not over and `wait` is false.
bool finish_current(domain& d, reclamation& r, bool wait) noexcept {
  if (r.current != nullptr) {
    if (wait) {
      const bool hurried = r.hurried.exchange(false, platform::relaxed);
      await_grace_period(d, r.current_grace_period, hurried ? urgency::hurry : urgency::normal);
    } else if (!try_advance(d, r.current_grace_period)) {
      return false;
    }
    const closed_gate moving(r.moving);
    retired* const done = r.current;
    r.current = nullptr;
    r.done = done;
  }
  return reclaim_done(d, r);
}

// Whether the process is ending and the reclaimer has to stop.
bool has_to_stop(const reclamation& r) noexcept {
  return is_reclaimer() && is_process_over(r);
}

// The deleter that runs, for those who wait for it. A deleter may run others.
class running_deleter {
 public:
  explicit running_deleter(reclamation& r) noexcept
      : r_(r), outer_(r.running.load(platform::relaxed)), since_(platform::coarse_now()) {
    r.running_since.store(since_, platform::relaxed);
  }
  ~running_deleter() { r_.running.store(outer_, platform::relaxed); }
  running_deleter(const running_deleter&) = delete;
  running_deleter& operator=(const running_deleter&) = delete;

  std::uint64_t since() const noexcept { return since_; }

  void run(domain& d, retired& object, const retired_kind* kind) noexcept {
    r_.running.store(kind, platform::relaxed);
    reclaim(object, kind);
    some_[count_++] = kind;
    if (count_ == most) look_at_clock(d);
  }

  // The clock costs a tenth of a short deleter, so it is read after some of them.
  void look_at_clock(domain& d) noexcept {
    const std::uint64_t before = since_;
    since_ = platform::coarse_now();
    r_.running_since.store(since_, platform::relaxed);
    if (since_ - before >= slow_deleter) [[unlikely]]
      warn_of_slow_deleters(d, some_, count_, since_ - before);
    count_ = 0;
  }

 private:
  static constexpr unsigned most = 8;

  reclamation& r_;
  const retired_kind* outer_;
  std::uint64_t since_;
  const retired_kind* some_[most];
  unsigned count_ = 0;
};

class nested_call {
 public:
  explicit nested_call(reclamation& r) noexcept : r_(r) { ++r_.depth; }
  ~nested_call() { --r_.depth; }
  nested_call(const nested_call&) = delete;
  nested_call& operator=(const nested_call&) = delete;
  bool is_outermost() const noexcept { return r_.depth == 1; }

 private:
  reclamation& r_;
};

}  // namespace

bool is_executor(const domain& d) noexcept {
  return (executes >> number_of(d) & 1) != 0;
}

bool is_any_executor() noexcept {
  return executes != 0;
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
  executes |= 1U << number_of(d);
  return true;
}

void execute(domain& d, reclamation& r) noexcept {
  while (!try_execute(d, r)) {
    std::uint32_t taken = executor_taken;
    if (!r.executor.compare_exchange_strong(taken, executor_awaited, platform::relaxed,
                                            platform::relaxed) &&
        taken == executor_free) {
      continue;
    }
    go_offline();
    platform::futex_wait(platform::futex_of(r.executor), executor_awaited, ~0U, nullptr);
  }
}

bool stop_executing(domain& d, reclamation& r) noexcept {
  const bool closed = r.ended_inside;
  if (closed) r.ended_inside = false;
  executes &= ~(1U << number_of(d));
  tools::happens_before(&r.executor);
  // (Y4) Pairs with (Y3).
  if (r.executor.exchange(executor_free, at(letter::Y4, platform::release)) == executor_awaited &&
      !is_mutant(mutant::silent_executor)) {
    platform::futex_wake(platform::futex_of(r.executor), INT32_MAX, ~0U);
  }
  if (closed) give_back_closed(d, r);
  return closed;
}

bool reclaim_done(domain& d, reclamation& r) noexcept {
  // A deleter may call this again; the nested call continues with the remaining objects.
  constexpr std::int64_t objects_until_told = 64;
  constexpr std::uint64_t time_until_told = 10'000'000;
  const bool checks = checks_misuse();
  std::int64_t objects = 0;
  std::uint64_t bytes = 0;
  running_deleter deleter(r);
  std::uint64_t told = deleter.since();
  bool stopped = false;
  while (!(stopped = has_to_stop(r))) {
    retired* const object = take_done(r);
    if (object == nullptr) break;
    const retired_kind* const kind = kind_of(*object);
    if (checks) object->kind = nullptr;  // no longer queued: a deleter may keep it
    bytes += bytes_of(kind);
    deleter.run(d, *object, kind);
    if (++objects == objects_until_told || deleter.since() - told >= time_until_told) {
      tell_reclaimed(r, objects, bytes);
      objects = 0;
      bytes = 0;
      told = deleter.since();
    }
  }
  deleter.look_at_clock(d);
  if (objects != 0) tell_reclaimed(r, objects, bytes);
  return !stopped || r.done == nullptr;
}

bool reclaim_all(domain& d, reclamation& r, bool wait) noexcept {
  const nested_call nested(r);
  if (!finish_current(d, r, wait)) return true;
  // (Y8) Pairs with (Y9): all objects retired before the barrier are in the queues.
  const std::uint32_t barriers = r.barriers_wanted.load(at(letter::Y8, platform::acquire));
  collect(d, r);
  const bool any = r.current != nullptr;
  if (!finish_current(d, r, wait)) return true;
  // A nested call runs inside a deleter, so for other threads one object is not reclaimed yet.
  if ((nested.is_outermost() || is_mutant(mutant::nested_barrier_publishes)) &&
      barriers != r.barriers_done.load(platform::relaxed)) {
    tools::happens_before(&r.barriers_done);
    // (Y10) Pairs with (Y11): the deleters happen before the return of the barrier.
    r.barriers_done.store(barriers, at(letter::Y10, platform::release));
    platform::futex_wake(platform::futex_of(r.barriers_done), INT32_MAX, ~0U);
  }
  return any;
}

void reclaim_until_empty(domain& d, reclamation& r) noexcept {
  if (r.depth != 0) reclaim_done(d, r);
  while (reclaim_all(d, r, true) && !has_to_stop(r)) {
  }
}

void look_at_running_deleter(const domain& d, const reclamation& r) noexcept {
  const retired_kind* const kind = r.running.load(platform::relaxed);
  const std::uint64_t since = r.running_since.load(platform::relaxed);
  const std::uint64_t now = platform::coarse_now();
  if (kind != nullptr && now > since && now - since >= slow_deleter) {
    warn_of_running_deleter(d, kind, now - since);
  }
}

void forget_other_executors(const domain& d, reclamation& r) noexcept {
  r.executor.store(is_executor(d) ? executor_taken : executor_free, platform::relaxed);
  if (is_executor(d)) return;
  r.depth = 0;
  r.ended_inside = false;
  clear_where_set(r.running);
}

}  // namespace readmost::detail
