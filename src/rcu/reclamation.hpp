// SPDX-License-Identifier: Apache-2.0
// The state of reclamation in a domain, and the interface between the parts of reclamation:
//   reclamation.cpp      retiring, barriers, settings, statistics
//   backlog.{hpp,cpp}    the account of waiting objects; retiring threads wait at its limit
//   executor.cpp         from the queues to the deleters
//   deleter_run.hpp      the threads that run deleters at present
//   reclaimer.cpp        the library's thread; reclaiming in place of it; the end of a domain
//   relief.cpp           another thread in its place when a deleter takes long
//   process_exit.cpp     the end of the process
//   reclamation_part.cpp exits of threads, and forks
#pragma once

#include <readmost/detail/rcu/retired.hpp>
#include <readmost/detail/threads/gate.hpp>

namespace readmost::detail {

// A thread's run through deleters: see executor.cpp.
class deleter_run;

struct reclamation {
  // Of the reclaimer.
  enum state : std::uint32_t {
    not_started,  // at first, after a pause, and while no thread can be started
    starting,
    awake,
    lazy,     // asleep until more objects have gathered, or somebody cannot wait
    asleep,   // until something is queued
    closing,  // has to reclaim everything, then ends: the domain is closed
    over,     // the process is ending: nothing is reclaimed but by barriers
  };
  // Of the relief, which takes the reclaimer's place if a deleter takes long.
  enum relief_state : std::uint32_t { no_relief, relief_starting, relief_watching, relief_leaving };

  // Read by all threads that retire.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> reclaimer{};  // its state
  platform::atomic<std::uint32_t> relief{};                                   // its state
  platform::atomic<std::uint32_t> most_reclaimers{default_reclaimers};
  platform::atomic<bool> in_place{};
  platform::atomic<bool> on_request{};
  platform::atomic<bool> hurried{};
  platform::atomic<backlog_policy> policy{};
  platform::atomic<std::uint64_t> most_objects{backlog_limit{}.objects};
  platform::atomic<std::uint64_t> most_bytes{backlog_limit{}.bytes};
  platform::atomic<std::uint64_t> laziness{default_laziness};
  platform::atomic<std::uint32_t> throttled{};  // threads that wait for a smaller backlog
  // No thread can be started before that, in nanoseconds of platform::now(); 0: not tried yet.
  platform::atomic<std::uint64_t> start_again{};

  // The backlog, without the objects that threads have not counted yet.
  alignas(platform::cache_line) platform::atomic<std::int64_t> objects{};
  platform::atomic<std::int64_t> bytes{};
  platform::atomic<std::uint64_t> reclaimed{};
  platform::atomic<std::uint32_t> reclaimed_some{};  // the futex word of throttled threads
  platform::atomic<std::int32_t> reclaimer_thread{};
  platform::atomic<std::int32_t> reclaimer_identity{};  // identity_of_thread(); 0: none
  // `reclaimed_some` plus one when a throttled thread has waited in vain.
  platform::atomic<std::uint64_t> stalled_at{};
  // The queue of threads without a record.
  platform::atomic<retired*> unrecorded_latest{};

  // Each barrier takes a number, which is published when everything is reclaimed that the executor
  // has collected before and in its next collection.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> barriers_wanted{};
  platform::atomic<std::uint32_t> barriers_done{};
  platform::atomic<std::uint32_t> executor{};  // whether there is one: see executor.cpp

  // Closed while lists are moved, and for the following.
  gate moving;
  platform::variable<deleter_run*> running{};  // those that run deleters: see deleter_run.hpp
  platform::variable<std::uint64_t> deleters_begun{};
  platform::variable<bool> in_deleter{};  // the executor is, so it may be replaced
  // The threads that have been, and run their deleter still. Read without the gate where it costs
  // nothing to see the last change late.
  platform::atomic<std::uint32_t> replaced{};
  // The deleters of everything that was retired before this barrier have at least been begun.
  platform::variable<std::uint32_t> barriers_begun{};

  // At the end of the process: a deleter, of this domain or another, has retired here since this
  // was last set to false.
  platform::atomic<bool> deleters_retired{};

  // Taken from the queues by a thread that forked, for the next collection.
  platform::variable<retired*> early{};
  platform::atomic<bool> has_early{};

  // When the executor last collected, in nanoseconds; only if it may be lazy. A reclaimer that is
  // about to be lazy reads it while another thread may execute.
  platform::atomic<std::uint64_t> collected_at{};

  // Accessed by the executor only.
  platform::variable<retired*> current{};
  platform::variable<std::uint64_t> current_grace_period{};
  platform::variable<retired*> done{};
  platform::variable<bool> ended_inside{};  // one of its deleters has closed the domain
};

extern reclamation all_reclamation[max_domains];

inline reclamation& reclamation_of(const domain& d) noexcept {
  return all_reclamation[number_of(d)];
}

// --- executor.cpp

// Whether the calling thread runs a deleter of the domain, or of any.
bool is_in_deleter(const domain& d) noexcept;
bool is_in_any_deleter() noexcept;
// Whether the calling thread is the executor. is_executing() may be called outside of deleters
// only, where a thread knows that it has been replaced.
bool is_executor(const domain& d, reclamation& r) noexcept;
bool is_executing(const domain& d) noexcept;
bool is_anything_queued(const domain& d, const reclamation& r) noexcept;
bool try_execute(domain& d, reclamation& r) noexcept;
// Waits until the calling thread is the executor.
void execute(domain& d, reclamation& r) noexcept;
// For the executor. Returns whether a deleter has closed the domain: then the caller must not use
// it any more.
bool stop_executing(domain& d, reclamation& r) noexcept;
// For a thread that takes the place of an executor, which has been replaced.
void take_place_of_executor(const domain& d) noexcept;
// For the executor: reclaims everything that is queued by now. `wait`: also waits for its grace
// period. Returns whether there was anything. In the end the thread may have been replaced.
bool reclaim_all(domain& d, reclamation& r, bool wait) noexcept;
// For the executor, if nobody waits: collects, unless it has before, and reclaims what it has
// collected if that needs no membarrier.
enum class progress : std::uint8_t { nothing, reclaimed, unreported };
progress reclaim_reported(domain& d, reclamation& r) noexcept;
// For the executor: reclaims the objects whose grace period is over. False when the process is
// ending and the thread has to stop, and when it has been replaced.
bool reclaim_done(domain& d, reclamation& r) noexcept;
// For the executor: reclaims everything, also what deleters retire meanwhile.
void reclaim_until_empty(domain& d, reclamation& r) noexcept;
// For a deleter: the same as barrier() and end_reclamation().
void await_in_deleter(domain& d, reclamation& r) noexcept;
void end_in_deleter(domain& d, reclamation& r) noexcept;
inline std::uint32_t number_of_replaced(const reclamation& r) noexcept {
  return r.replaced.load(platform::relaxed);
}
// For the reclaimer: waits until a thread that was replaced has finished its deleter, if there is
// one.
void await_late_deleters(reclamation& r) noexcept;
// For a thread that has long waited for a deleter: warns of the one that takes longest.
void look_at_running_deleter(const domain& d, reclamation& r) noexcept;
// Whether another thread runs a deleter that has begun less than `time` ago.
bool other_runs_deleter_since(reclamation& r, std::uint64_t time) noexcept;
// Whether all deleters have been begun that this barrier waits for, so that only those of replaced
// threads are lacking. False if no thread has been replaced.
bool have_deleters_begun(reclamation& r, std::uint32_t barrier) noexcept;
// In the child of a fork.
void forget_other_executors(const domain& d, reclamation& r) noexcept;

// --- reclaimer.cpp and relief.cpp

// Whether the calling thread is the reclaimer of any domain, which does not change while it runs
// deleters; or of this one.
bool is_reclaimer() noexcept;
bool is_reclaimer(const domain& d) noexcept;

// Starts the relief, unless another thread does or the domain has none.
void start_relief(domain& d, reclamation& r) noexcept;
// For a thread that has queued an object and found the reclaimer awake: starts a relief if that has
// none.
inline void want_relief_of_reclaimer(domain& d, reclamation& r) noexcept {
  if (r.relief.load(platform::relaxed) == reclamation::no_relief) [[unlikely]]
    start_relief(d, r);
}
// For the executor, behind whose deleter something waits: the same if it is the reclaimer.
inline void want_relief(domain& d, reclamation& r) noexcept {
  if (r.relief.load(platform::relaxed) == reclamation::no_relief && is_reclaimer(d)) [[unlikely]]
    start_relief(d, r);
}
// What relieves the executor of its lists, if it is the reclaimer, has not got beyond one deleter
// since the last look, and something waits.
class relief_look {
 public:
  enum result : std::uint8_t { at_rest, at_work, replaced };
  result operator()(domain& d, reclamation& r) noexcept;

 private:
  std::uint64_t begun_ = 0;
};
// Ends the relief. Precondition: there is no reclaimer but the calling thread.
void end_relief(reclamation& r) noexcept;

// The calling thread takes the place of the domain's reclaimer. Again: in the child of a fork, if
// it was one of the domain's threads before.
void take_place_of_reclaimer(domain& d) noexcept;
void take_place_of_reclaimer_again(const domain& d) noexcept;
// What the reclaimer does, beginning as the executor.
void serve(domain& d, reclamation& r) noexcept;

inline bool change(platform::atomic<std::uint32_t>& state, std::uint32_t from,
                   std::uint32_t to) noexcept {
  return state.compare_exchange_strong(from, to, platform::relaxed, platform::relaxed);
}

// Whether there is a reclaimer.
inline bool is_running(std::uint32_t state) noexcept {
  return state != reclamation::not_started && state != reclamation::over;
}
inline bool runs(const reclamation& r) noexcept {
  return is_running(r.reclaimer.load(platform::relaxed));
}
inline bool is_process_over(const reclamation& r) noexcept {
  return r.reclaimer.load(platform::relaxed) == reclamation::over;
}

// Whether there must be none.
inline bool has_no_thread(const reclamation& r) noexcept {
  return r.in_place.load(platform::relaxed) || r.on_request.load(platform::relaxed);
}

inline void wake_reclaimer_from(reclamation& r, std::uint32_t rest) noexcept {
  if (change(r.reclaimer, rest, reclamation::awake)) {
    platform::futex_wake(platform::futex_of(r.reclaimer), 1, ~0U);
  }
}
// Something is queued.
inline void wake_reclaimer(reclamation& r) noexcept {
  if (r.reclaimer.load(platform::relaxed) == reclamation::asleep) {
    wake_reclaimer_from(r, reclamation::asleep);
  }
}
// Something cannot wait.
inline void wake_reclaimer_now(reclamation& r) noexcept {
  const std::uint32_t state = r.reclaimer.load(platform::relaxed);
  if (state == reclamation::asleep ||
      (state == reclamation::lazy && !is_mutant(mutant::lazy_for_all)))
    wake_reclaimer_from(r, state);
}

// Starts the reclaimer where there is none and one may be had; schedule() does it too. If the
// system refuses, later calls try again.
void start_reclaimer(domain& d) noexcept;
// Reclaims everything, and ends the reclaimer if there is one. False inside a deleter of the
// domain: then the executor gives the domain back after that.
bool end_reclamation(domain& d, reclamation& r) noexcept;
// Gives a domain back after its reclamation has ended.
void give_back_closed(domain& d, reclamation& r) noexcept;
// Has the reclaimer reclaim everything and end. False if there is none.
bool end_when_empty(reclamation& r) noexcept;
// Reclaims in the calling thread, outside of sections and deleters, unless another thread does.
// Returns whether a deleter has closed the domain.
bool reclaim_in_place(domain& d, reclamation& r, bool wait) noexcept;
// How long a thread sleeps that looks again by itself, in nanoseconds.
inline constexpr std::uint64_t between_looks = 50'000;

// --- process_exit.cpp

// Prepares for the end of the process.
void watch_process_exit() noexcept;

// --- reclamation.cpp

extern platform::atomic<bool> is_process_ending;
// Prepares for exits of threads, for forks and for the end of the process.
void watch_lives() noexcept;
std::uint32_t take_barrier(reclamation& r) noexcept;
// False when there is no reclaimer to wait for.
bool await_barrier(domain& d, reclamation& r, std::uint32_t barrier) noexcept;

// --- reclamation_part.cpp

void add_reclamation_part() noexcept;

}  // namespace readmost::detail
