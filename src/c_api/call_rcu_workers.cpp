// SPDX-License-Identifier: Apache-2.0
// The orders here have no letters, because the checker does not run liburcu's interface.
#include "c_api/call_rcu_workers.hpp"

#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "platform/tools.hpp"
#include "threads/parts.hpp"

namespace readmost::detail::urcu {

namespace {

using worker = call_rcu_data;

// All workers, and the number of the next one.
constinit gate list_gate;
constinit worker* first_worker;
constinit std::uint64_t next_number = 1;
constinit platform::atomic<std::uint32_t> worker_count{};

// The worker whose thread the calling one is.
READMOST_THREAD_LOCAL worker* me;

std::uint64_t address_of(const head& object) noexcept {
  return reinterpret_cast<std::uintptr_t>(&object);
}

// --- Queueing

void push(worker& w, head& object) noexcept {
  std::uint64_t before = w.latest.load(platform::relaxed);
  tools::happens_before(&w.latest);
  do {
    object.next =
        before == worker::asleep ? nullptr : reinterpret_cast<void*>(std::uintptr_t{before});
    // Pairs with take_queue().
  } while (!w.latest.compare_exchange_weak(before, address_of(object), platform::acq_rel,
                                           platform::relaxed));
  if (before == worker::asleep) {
    platform::futex_wake(platform::futex_of_low_half(w.latest), 1, ~0U);
  }
}

// --- Moving heads. Precondition: the gate is closed.

head** end_of(head** list) noexcept {
  while (*list != nullptr) list = reinterpret_cast<head**>(&(*list)->next);
  return list;
}

// Moves the queue to the end of `early`.
void take_queue(worker& w) noexcept {
  const std::uint64_t taken = w.latest.load(platform::relaxed);
  if (taken == 0 || taken == worker::asleep) return;
  // Acquire pairs with the release in push(): the heads are filled in. Release: who queues after
  // this sees what the caller did before, such as giving the thread up.
  auto* object = reinterpret_cast<head*>(w.latest.exchange(0, platform::acq_rel));
  tools::happens_after(&w.latest);
  head* oldest = nullptr;
  while (object != nullptr) {
    auto* const older = static_cast<head*>(object->next);
    object->next = oldest;
    oldest = object;
    object = older;
  }
  *end_of(&w.early) = oldest;
}

// Queues everything in the domain instead.
void hand_over(worker& w) noexcept {
  head* rest = nullptr;
  {
    const closed_gate moving(w.moving);
    take_queue(w);
    *end_of(&w.batch) = w.early;
    rest = w.batch;
    w.batch = w.early = nullptr;
  }
  while (rest != nullptr) {
    auto* const next = static_cast<head*>(rest->next);
    schedule_call(default_domain, *reinterpret_cast<retired*>(rest),
                  reinterpret_cast<retired_call>(rest->func), 0);
    rest = next;
  }
}

// --- The thread

// Makes everything that is queued the next batch; marks the worker as asleep and returns false if
// that is nothing.
bool collect_or_mark_asleep(worker& w) noexcept {
  const closed_gate moving(w.moving);
  std::uint64_t latest = 0;
  if (w.early == nullptr && (w.latest.compare_exchange_strong(
                                 latest, worker::asleep, platform::relaxed, platform::relaxed) ||
                             latest == worker::asleep)) {
    return false;
  }
  take_queue(w);
  w.batch = w.early;
  w.early = nullptr;
  return true;
}

head* take_oldest(worker& w) noexcept {
  const closed_gate moving(w.moving);
  head* const object = w.batch;
  if (object != nullptr) w.batch = static_cast<head*>(object->next);
  return object;
}

void call(head& object) noexcept {
  object.func(reinterpret_cast<rcu_head*>(&object));
}

bool is_marker(const head& object) noexcept;

void call_batch(worker& w) noexcept {
  while (head* const object = take_oldest(w)) {
    // For the thread that waits for a marker, the function that called this is not over yet.
    if (w.depth != 0 && is_marker(*object)) {
      object->next = w.postponed;
      w.postponed = object;
      continue;
    }
    ++w.depth;
    call(*object);
    --w.depth;
    while (w.depth == 0 && w.postponed != nullptr) {
      head* const marker = w.postponed;
      w.postponed = static_cast<head*>(marker->next);
      call(*marker);
    }
  }
}

// Precondition: the batch is empty. False: nothing is queued, and the worker is marked as asleep.
bool serve_queue(worker& w) noexcept {
  if (!collect_or_mark_asleep(w)) return false;
  synchronize(default_domain, urgency::normal);
  call_batch(w);
  return true;
}

void sleep_while_marked(worker& w) noexcept {
  go_offline();
  while (w.latest.load(platform::relaxed) == worker::asleep) {
    platform::futex_wait(platform::futex_of_low_half(w.latest),
                         static_cast<std::uint32_t>(worker::asleep), ~0U, nullptr);
  }
}

void set_state(worker& w, std::uint32_t state) noexcept {
  // Pairs with the acquire in await_thread(): sees `thread`, or that the thread has let go of the
  // worker.
  w.state.store(state, platform::release);
  platform::futex_wake(platform::futex_of(w.state), INT32_MAX, ~0U);
}

void run(void* argument) noexcept {
  auto& w = *static_cast<worker*>(argument);
  me = &w;
  worker_of_thread = &w;
  if (w.cpu >= 0) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(w.cpu, &only);
    sched_setaffinity(0, sizeof only, &only);  // fails for a CPU that is offline
  }
  w.thread = pthread_self();
  set_state(w, worker::running);
  while (!w.stops) {
    if (!serve_queue(w)) sleep_while_marked(w);
  }
  set_state(w, worker::none);
}

// Starts the thread, or without one hands everything over.
void start(worker& w) noexcept {
  std::uint32_t none = worker::none;
  if (!w.state.compare_exchange_strong(none, worker::starting, platform::relaxed,
                                       platform::relaxed)) {
    return;
  }
  if (platform::start_thread(run, &w)) return;
  set_state(w, worker::none);
  hand_over(w);
}

// Returns the state that follows `former`.
std::uint32_t await_thread(worker& w, std::uint32_t former) noexcept {
  for (;;) {
    const std::uint32_t state = w.state.load(platform::acquire);
    if (state != former) return state;
    go_offline();
    platform::futex_wait(platform::futex_of(w.state), former, ~0U, nullptr);
  }
}

// --- Waiting for a place in the queue

// A head of a thread that waits until it is called.
struct marker : head {
  explicit marker(void (*function)(rcu_head*)) noexcept : head{nullptr, function} {}

  platform::atomic<std::uint32_t> called{};

  void tell() noexcept {
    // Pairs with the acquire in await(): what was called before has happened.
    called.store(1, platform::release);
    platform::futex_wake(platform::futex_of(called), 1, ~0U);
  }
  void await() noexcept {
    while (called.load(platform::acquire) == 0) {
      go_offline();
      platform::futex_wait(platform::futex_of(called), 0, ~0U, nullptr);
    }
  }
};

marker& marker_of(rcu_head* object) noexcept {
  return *static_cast<marker*>(reinterpret_cast<head*>(object));
}

void reach_barrier(rcu_head* object) noexcept {
  marker_of(object).tell();
}

// Called by the worker that has to end.
void stop(rcu_head* object) noexcept {
  me->stops = true;
  marker_of(object).tell();
}

bool is_marker(const head& object) noexcept {
  return object.func == reach_barrier || object.func == stop;
}

// --- The list of workers. Precondition: its gate is closed.

worker** place_behind(std::uint64_t number) noexcept {
  worker** place = &first_worker;
  while (*place != nullptr && (*place)->number <= number) place = &(*place)->next;
  return place;
}

// Precondition, other than above: the gate is open, and the worker ends and has no thread.
void remove(worker& w) noexcept {
  hand_over(w);  // what may take long
  {
    // The worker is in the list until its heads are in the domain, so that wait_for_workers() finds
    // them in one place or the other.
    const closed_gate list(list_gate);
    hand_over(w);
    *place_behind(w.number - 1) = w.next;
    worker_count.fetch_sub(1, platform::relaxed);
  }
  std::free(&w);
}

// --- Forks. As in src/rcu/reclamation_part.cpp: a queue and its heads would be copied at different
// moments, so the thread that forks takes the queues before.

bool is_list_closed;

void stop_moving() noexcept {
  is_list_closed = list_gate.try_close();
  if (!is_list_closed) return;
  for (worker* w = first_worker; w != nullptr; w = w->next) {
    w->is_closed_for_fork = w->moving.try_close();
    if (w->is_closed_for_fork) take_queue(*w);
  }
}

void go_on_moving() noexcept {
  if (!is_list_closed) return;
  for (worker* w = first_worker; w != nullptr; w = w->next) {
    if (w->is_closed_for_fork) w->moving.open();
  }
  list_gate.open();
}

// The threads that wait for markers are not in the child, unless it is the forking one.
void drop_markers(head** list) noexcept {
  while (head* const object = *list) {
    if (is_marker(*object)) {
      *list = static_cast<head*>(object->next);
      static_cast<marker*>(object)->called.store(1, platform::relaxed);
    } else {
      list = reinterpret_cast<head**>(&object->next);
    }
  }
}

// The thread is started again by the next head that is queued, and by wait_for_workers().
void go_on_in_child(worker& w) noexcept {
  if (&w != me) {
    w.state.store(worker::none, platform::relaxed);
    w.latest.store(0, platform::relaxed);  // those that were queued while the memory was copied
    if (w.is_closed_for_fork) {
      *end_of(&w.batch) = w.early;
      w.early = w.batch;
      drop_markers(&w.early);
    } else {
      w.early = nullptr;
    }
    w.batch = nullptr;
  }
  w.moving.open_in_child();
}

constinit part workers_part{.before_fork = stop_moving, .in_parent = go_on_moving, .in_child = [] {
                              if (!is_list_closed) first_worker = nullptr;  // it may be torn
                              for (worker* w = first_worker; w != nullptr; w = w->next)
                                go_on_in_child(*w);
                              list_gate.open_in_child();
                              is_list_closed = false;
                            }};

READMOST_EARLY void add_workers_early() noexcept {
  add_part(workers_part);
}

}  // namespace

READMOST_THREAD_LOCAL call_rcu_data* worker_of_thread;

call_rcu_data* make_worker(int cpu) noexcept {
  void* const memory = std::malloc(sizeof(worker));
  if (memory == nullptr) return nullptr;
  auto* const made = new (memory) worker;
  made->cpu = cpu < CPU_SETSIZE ? cpu : -1;
  {
    const closed_gate list(list_gate);
    made->number = next_number++;
    *place_behind(made->number) = made;
    worker_count.fetch_add(1, platform::relaxed);
  }
  start(*made);
  return made;
}

void free_worker(call_rcu_data& w) noexcept {
  {
    const closed_gate list(list_gate);
    w.ends = true;
  }
  if (w.state.load(platform::relaxed) != worker::none) {
    marker last(stop);
    push(w, last);
    last.await();
    await_thread(w, worker::running);
  }
  remove(w);
}

void queue(call_rcu_data& w, head& object) noexcept {
  push(w, object);
  if (w.state.load(platform::relaxed) == worker::none) [[unlikely]]
    start(w);
}

pthread_t thread_of(call_rcu_data& w) noexcept {
  start(w);
  return await_thread(w, worker::starting) == worker::running ? w.thread : pthread_t{};
}

bool are_there_workers() noexcept {
  return worker_count.load(platform::relaxed) != 0;
}

void wait_for_workers() noexcept {
  for (std::uint64_t number = 0;;) {
    marker reached(reach_barrier);
    worker* w = nullptr;
    {
      const closed_gate list(list_gate);
      w = *place_behind(number);
      if (w == nullptr) return;
      number = w->number;
      if (w != me) push(*w, reached);
      if (w->state.load(platform::relaxed) == worker::none && !w->ends) start(*w);
    }
    if (w != me) {
      reached.await();
      continue;
    }
    call_batch(*w);
    while (serve_queue(*w)) {
    }
  }
}

void dissolve_workers() noexcept {
  worker_of_thread = me;
  for (std::uint64_t number = 0;;) {
    worker* w = nullptr;
    {
      const closed_gate list(list_gate);
      w = *place_behind(number);
      if (w == nullptr) return;
      number = w->number;
      if (w == me) continue;
      w->ends = true;
    }
    remove(*w);
  }
}

}  // namespace readmost::detail::urcu
