// SPDX-License-Identifier: Apache-2.0
// Workers of call_rcu(): threads that a program makes to have its functions called apart from those
// of others, liburcu's `call_rcu_data`. Whatever is not meant for one of them goes to the domain's
// reclaimer.
//
// A worker's thread takes all that is queued, waits for a grace period of the process's domain,
// which it shares with everybody else who waits for one, and calls the functions, oldest first.
#pragma once

#include <pthread.h>

#include <readmost/detail/rcu/retired.hpp>
#include <readmost/detail/threads/gate.hpp>

#include "c_api/urcu_flavor.hpp"

// Only its address is known to programs.
struct call_rcu_data {
  // Of the worker's thread.
  enum thread_state : std::uint32_t { none, starting, running };

  // The heads that are queued, latest first; 0; or `asleep`: none, and the thread sleeps.
  readmost::detail::platform::atomic<std::uint64_t> latest{};
  static constexpr std::uint64_t asleep = 1;

  readmost::detail::platform::atomic<std::uint32_t> state{};
  pthread_t thread{};
  int cpu = -1;  // that the thread has to run on

  // Closed while heads are moved between the queue and these lists, oldest first: taken from the
  // queue by a fork; to be called, after their grace period, or being called.
  readmost::detail::gate moving;
  readmost::detail::urcu::head* early{};
  readmost::detail::urcu::head* batch{};
  // For the thread alone: whether it has to end, how many functions it is inside (one, and more in
  // a barrier that one calls), and the heads to call once it is in none.
  bool stops{};
  std::uint32_t depth{};
  readmost::detail::urcu::head* postponed{};

  // Is being freed: the thread is not started any more. Accessed while the list's gate is closed.
  bool ends{};
  // In the list of all workers, by number.
  std::uint64_t number{};
  call_rcu_data* next{};
  // Of the thread that is forking: whether it has closed the gate.
  bool is_closed_for_fork{};
  // For whoever frees the workers of all CPUs: several may have the same one.
  bool is_to_be_freed{};
  call_rcu_data* next_to_free{};
};

namespace readmost::detail::urcu {

// In which the calling thread queues what it passes to call_rcu(), or null; a worker's thread in
// itself.
extern READMOST_THREAD_LOCAL call_rcu_data* worker_of_thread;

// Null without memory. If no thread can be started, the domain's reclaimer does the work.
call_rcu_data* make_worker(int cpu) noexcept;

// Returns when everything that was queued has been called and the thread has ended. Preconditions:
// nobody uses the worker any more; the caller is not in a section, and is not the worker.
void free_worker(call_rcu_data& worker) noexcept;

// Thread safety: any, also in signal handlers. Lock-free.
void queue(call_rcu_data& worker, head& object) noexcept;

// Returns the worker's thread, or thread 0 if it has none.
pthread_t thread_of(call_rcu_data& worker) noexcept;

// Whether there are any. A worker that is being made need not count.
bool are_there_workers() noexcept;

// Returns when everything that was queued before, in all workers, has been called or queued in the
// domain; if the caller is a worker, all but the function that calls this.
void wait_for_workers() noexcept;

// In the child of a fork: queues everything in the domain and frees the workers, but for the
// calling one. No thread queues in the others any more.
void dissolve_workers() noexcept;

}  // namespace readmost::detail::urcu
