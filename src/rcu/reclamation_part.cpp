// SPDX-License-Identifier: Apache-2.0
// Reclamation's part in a thread's exit and in a process's fork.
//
// While a child's memory is being copied, other threads go on retiring, so a queue and its objects
// would be copied at different moments. The thread that forks therefore takes all queues before the
// fork, and closes the gates of the threads that move lists.
#include "rcu/backlog.hpp"
#include "rcu/reclamation.hpp"
#include "rcu/retired_queue.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

void recount(reclamation& r, const retired* list) noexcept {
  for (; list != nullptr; list = list->next) {
    r.objects.fetch_add(1, platform::relaxed);
    r.bytes.fetch_add(static_cast<std::int64_t>(bytes_of(kind_of(*list))), platform::relaxed);
  }
}

// The domains whose gates the calling thread has closed for its fork, as bits. The lists of the
// others may be torn in the child.
READMOST_THREAD_LOCAL std::uint32_t stopped;

// Whoever looks whether anything is queued finds what the parent's executor had collected.
void queue_collected_again(reclamation& r) noexcept {
  for (platform::variable<retired*>* const list : {&r.current, &r.done}) {
    if (*list == nullptr) continue;
    *end_of(*list) = static_cast<retired*>(r.early);
    r.early = static_cast<retired*>(*list);
    *list = nullptr;
  }
  r.has_early.store(r.early != nullptr, platform::relaxed);
}

// The reclaimer is not in the child, unless it forked itself. The objects that wait are, except one
// that it was reclaiming.
void go_on_in_child(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  r.moving.open_in_child();
  forget_other_executors(d, r);
  r.relief.store(reclamation::no_relief, platform::relaxed);
  if (r.reclaimer.load(platform::relaxed) != reclamation::over) {
    r.reclaimer.store(is_reclaimer(d) ? reclamation::awake : reclamation::not_started,
                      platform::relaxed);
  }
  r.throttled.store(0, platform::relaxed);
  r.barriers_done.store(r.barriers_wanted.load(platform::relaxed), platform::relaxed);
  r.objects.store(0, platform::relaxed);
  r.bytes.store(0, platform::relaxed);
  // Objects in the queues of other threads were retired while the memory was being copied, and
  // their copies may be torn. Earlier ones are in `early`.
  for_each_record(d, [&](thread_record& record, bool) {
    clear_where_set(record.uncounted_objects);
    clear_where_set(record.uncounted_bytes);
    const retired* const queue = record.retired_latest.load(platform::relaxed);
    if (queue == nullptr) return;
    if (&record != &my_record(number_of(d))) {
      record.retired_latest.store(nullptr, platform::relaxed);
      return;
    }
    recount(r, queue);
    // An executor may have been collecting it.
    chunk_of(record).retiring.fetch_or(std::uint64_t{1} << number_of(record), platform::relaxed);
  });
  r.unrecorded_latest.store(nullptr, platform::relaxed);
  if ((stopped >> number_of(d) & 1) == 0) {
    r.early = nullptr;
    r.has_early.store(false, platform::relaxed);
    r.current = nullptr;
    r.done = nullptr;
  }
  if (!is_executing(d)) queue_collected_again(r);
  recount(r, r.early);
  recount(r, r.current);
  recount(r, r.done);
}

void stop_moving() noexcept {
  for (unsigned number = 0; number < max_domains; ++number) {
    reclamation& r = all_reclamation[number];
    if (!r.moving.try_close()) continue;
    stopped |= 1U << number;
    auto* tail = append_oldest_first(r.unrecorded_latest, end_of(r.early));
    for_each_record(domains[number], [&](thread_record& record, bool) {
      tail = append_oldest_first(record.retired_latest, tail);
    });
    r.has_early.store(r.early != nullptr, platform::relaxed);
  }
}

void go_on_moving() noexcept {
  while (stopped != 0) {
    reclamation& r = all_reclamation[__builtin_ctz(stopped)];
    stopped &= stopped - 1;
    r.moving.open();
    // It may have looked before `has_early` was set and be asleep. The fork was a fence.
    if (r.has_early.load(platform::relaxed)) wake_reclaimer(r);
  }
}

void count_at_thread_exit(thread_record& me) noexcept {
  count_now(reclamation_of(domain_of(me)), me);
}

constinit part reclamation_part{.on_exit = count_at_thread_exit,
                                .before_fork = stop_moving,
                                .in_parent = go_on_moving,
                                .in_child = [] {
                                  for_each_domain(go_on_in_child);
                                  stopped = 0;
                                }};

READMOST_EARLY void add_reclamation_early() noexcept {
  if constexpr (platform::forks) add_part(reclamation_part);
}

}  // namespace

void add_reclamation_part() noexcept {
  add_part(reclamation_part);
}

}  // namespace readmost::detail
