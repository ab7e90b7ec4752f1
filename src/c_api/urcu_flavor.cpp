// SPDX-License-Identifier: Apache-2.0
// The functions of <readmost/urcu_flavor.h>: liburcu's interface over the process's domain.
#include "c_api/urcu_flavor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <readmost/detail/rcu/retired.hpp>

#include "c_api/call_rcu_workers.hpp"
#include "rcu/misuse.hpp"
#include "threads/parts.hpp"

namespace readmost::detail::urcu {

namespace {

static_assert(sizeof(head) == sizeof(retired));
static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));

// Stands for the domain's reclaimer.
constinit call_rcu_data usual_worker;

constexpr int max_cpus = 4096;
constinit platform::atomic<call_rcu_data*> workers_of_cpus[max_cpus] = {};
constinit platform::atomic<bool> have_cpus_workers{};

bool is_cpu(int cpu) noexcept {
  return cpu >= 0 && cpu < max_cpus && cpu < sysconf(_SC_NPROCESSORS_CONF);
}

// liburcu's functions set errno and return the negative error.
int failed(int error) noexcept {
  errno = error;
  return -error;
}

// Null without one. It may be freed as soon as the caller is in no section.
call_rcu_data* worker_of_cpu(int cpu) noexcept {
  // Acquire pairs with the release in set_worker_of_cpu(): the worker is complete.
  return is_cpu(cpu) ? workers_of_cpus[cpu].load(platform::acquire) : nullptr;
}

call_rcu_data* worker_of_this_cpu() noexcept {
  if (!have_cpus_workers.load(platform::relaxed)) return nullptr;
  return worker_of_cpu(static_cast<int>(platform::current_cpu()));
}

bool set_worker_of_cpu(int cpu, call_rcu_data& worker) noexcept {
  have_cpus_workers.store(true, platform::relaxed);
  call_rcu_data* none = nullptr;
  return workers_of_cpus[cpu].compare_exchange_strong(none, &worker, platform::release,
                                                      platform::relaxed);
}

class read_section {
 public:
  read_section() noexcept { enter_section(my_record(), 0); }
  ~read_section() { leave_section(my_record(), 0); }
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;
};

// False if the calling thread and its CPU have no worker.
bool queue_in_worker(head& object) noexcept {
  if (worker_of_thread != nullptr) {
    if (worker_of_thread == &usual_worker) return false;
    queue(*worker_of_thread, object);
    return true;
  }
  if (!have_cpus_workers.load(platform::relaxed)) return false;
  const read_section kept;
  call_rcu_data* const worker = worker_of_this_cpu();
  if (worker == nullptr || worker == &usual_worker) return false;
  queue(*worker, object);
  return true;
}

// A call passed to defer_rcu().
struct deferred : retired {
  deferred(void (*what)(void*), void* with) : function(what), argument(with) {}

  void (*function)(void*);
  void* argument;
};

void carry_out(retired* object) noexcept {
  auto* const self = static_cast<deferred*>(object);
  const deferred taken = *self;
  std::free(self);
  taken.function(taken.argument);
}
constexpr retired_kind deferred_kind{carry_out, sizeof(deferred)};

// An object whose deleter records the thread that runs it.
struct thread_question : retired {
  pthread_t thread{};
};
constexpr retired_kind thread_question_kind{[](retired* object) noexcept {
                                              static_cast<thread_question*>(object)->thread =
                                                  pthread_self();
                                            },
                                            0};

// liburcu-cds has a thread of its own, which its hook stops before a fork. Every hash table
// registers the same hook. The mutex is held from before_fork to after_fork, so that the child can
// release it.
pthread_mutex_t hook_lock = PTHREAD_MUTEX_INITIALIZER;
const atfork* hook;
unsigned hook_users;

}  // namespace

}  // namespace readmost::detail::urcu

using namespace readmost;
using namespace readmost::detail;
using namespace readmost::detail::urcu;

// Exports these functions, as READMOST_API does for those that a header declares.
#pragma GCC visibility push(default)

extern "C" {

// --- Read sections -------------------------------------------------------------------------------

void urcu_readmost_read_lock() {
  enter_section(my_record(), 0);
}

void urcu_readmost_read_unlock() {
  leave_section(my_record(), 0);
}

int urcu_readmost_read_ongoing() {
  return is_in_section(0) ? 1 : 0;
}

// --- Threads -------------------------------------------------------------------------------------

void urcu_readmost_init() {
  watch_forks();
}

void urcu_readmost_register_thread() {
  enlist();
}

void urcu_readmost_thread_online() {
  if (thread_record* const me = enlist()) come_online(*me);
}

void urcu_readmost_thread_offline() {
  if (&my_record() != &unregistered) go_offline(my_record());
}

void urcu_readmost_unregister_thread() {
  urcu_readmost_thread_offline();
}

void urcu_readmost_quiescent_state() {
  report_if_asked();
}

// --- Grace periods -------------------------------------------------------------------------------

void urcu_readmost_synchronize_rcu() {
  synchronize(default_domain, urgency::normal);
}

poll_state urcu_readmost_start_poll_synchronize_rcu() {
  const std::uint64_t grace_period = grace_period_from_now(default_domain);
  try_advance(default_domain, grace_period);
  return {grace_period};
}

bool urcu_readmost_poll_state_synchronize_rcu(poll_state state) {
  return try_advance(default_domain, state.grace_period_id);
}

// --- call_rcu ------------------------------------------------------------------------------------

void urcu_readmost_call_rcu(rcu_head* given, void (*function)(rcu_head*)) {
  auto& object = *reinterpret_cast<head*>(given);
  object.func = function;
  if (queue_in_worker(object)) return;
  schedule_call(default_domain, reinterpret_cast<retired&>(object),
                reinterpret_cast<retired_call>(function), 0);
}

void urcu_readmost_barrier() {
  if (are_there_workers()) {
    if (is_in_section(0)) {
      diagnose_misuse(misuse::barrier_inside, 0, __builtin_return_address(0));
    }
    wait_for_workers();
  }
  barrier(default_domain);
}

call_rcu_data* urcu_readmost_create_call_rcu_data(unsigned long, int cpu_affinity) {
  call_rcu_data* const made = make_worker(cpu_affinity);
  if (made == nullptr) errno = ENOMEM;
  return made;
}

void urcu_readmost_call_rcu_data_free(call_rcu_data* worker) {
  if (worker != nullptr && worker != &usual_worker) free_worker(*worker);
}

call_rcu_data* urcu_readmost_get_default_call_rcu_data() {
  return &usual_worker;
}

call_rcu_data* urcu_readmost_get_call_rcu_data() {
  if (worker_of_thread != nullptr) return worker_of_thread;
  call_rcu_data* const of_cpu = worker_of_this_cpu();
  return of_cpu != nullptr ? of_cpu : &usual_worker;
}

call_rcu_data* urcu_readmost_get_thread_call_rcu_data() {
  return worker_of_thread;
}

void urcu_readmost_set_thread_call_rcu_data(call_rcu_data* worker) {
  worker_of_thread = worker;
}

call_rcu_data* urcu_readmost_get_cpu_call_rcu_data(int cpu) {
  return worker_of_cpu(cpu);
}

int urcu_readmost_set_cpu_call_rcu_data(int cpu, call_rcu_data* worker) {
  if (!is_cpu(cpu)) return failed(EINVAL);
  if (worker == nullptr) {
    workers_of_cpus[cpu].store(nullptr, platform::relaxed);
    return 0;
  }
  return set_worker_of_cpu(cpu, *worker) ? 0 : failed(EEXIST);
}

int urcu_readmost_create_all_cpu_call_rcu_data(unsigned long) {
  for (int cpu = 0; is_cpu(cpu); ++cpu) {
    if (worker_of_cpu(cpu) != nullptr) continue;
    call_rcu_data* const made = make_worker(cpu);
    if (made == nullptr) return failed(ENOMEM);
    // Another thread may have been faster.
    if (!set_worker_of_cpu(cpu, *made)) free_worker(*made);
  }
  return 0;
}

void urcu_readmost_free_all_cpu_call_rcu_data() {
  call_rcu_data* taken = nullptr;
  for (auto& of_cpu : workers_of_cpus) {
    if (of_cpu.load(platform::relaxed) == nullptr) continue;
    // As in worker_of_cpu().
    call_rcu_data* const worker = of_cpu.exchange(nullptr, platform::acquire);
    if (worker == nullptr || worker == &usual_worker || worker->is_to_be_freed) continue;
    worker->is_to_be_freed = true;
    worker->next_to_free = taken;
    taken = worker;
  }
  if (taken == nullptr) return;
  synchronize(default_domain, urgency::normal);
  while (call_rcu_data* const worker = taken) {
    taken = worker->next_to_free;
    free_worker(*worker);
  }
}

pthread_t urcu_readmost_get_call_rcu_thread(call_rcu_data* worker) {
  if (worker != nullptr && worker != &usual_worker) {
    const pthread_t thread = thread_of(*worker);
    if (!pthread_equal(thread, pthread_t{})) return thread;
  }
  thread_question question;
  // Inside a section the barrier would wait for the caller itself.
  if (is_in_section(0)) return question.thread;
  schedule(default_domain, question, thread_question_kind);
  barrier(default_domain);
  return question.thread;
}

// --- defer_rcu -----------------------------------------------------------------------------------

void urcu_readmost_defer_rcu(void (*function)(void*), void* argument) {
  void* const memory = std::malloc(sizeof(deferred));
  if (memory == nullptr) {
    urcu_readmost_synchronize_rcu();
    function(argument);
    return;
  }
  schedule(default_domain, *new (memory) deferred(function, argument), deferred_kind);
}

int urcu_readmost_defer_register_thread() {
  enlist();
  return 0;
}

void urcu_readmost_defer_barrier() {
  barrier(default_domain);
}

void urcu_readmost_defer_barrier_thread() {
  barrier(default_domain);
}

void urcu_readmost_defer_unregister_thread() {
  barrier(default_domain);
}

void urcu_readmost_defer_exit() {
  barrier(default_domain);
}

// --- Forks ---------------------------------------------------------------------------------------

void urcu_readmost_register_rculfhash_atfork(urcu_atfork* given) {
  pthread_mutex_lock(&hook_lock);
  if (hook_users++ == 0) hook = reinterpret_cast<const atfork*>(given);
  pthread_mutex_unlock(&hook_lock);
}

void urcu_readmost_unregister_rculfhash_atfork(urcu_atfork*) {
  pthread_mutex_lock(&hook_lock);
  if (--hook_users == 0) hook = nullptr;
  pthread_mutex_unlock(&hook_lock);
}

// The library itself handles retired objects and readers at a fork.

void urcu_readmost_call_rcu_before_fork() {
  watch_forks();
  pthread_mutex_lock(&hook_lock);
  if (hook != nullptr) hook->before_fork(hook->priv);
}

void urcu_readmost_call_rcu_after_fork_parent() {
  if (hook != nullptr) hook->after_fork_parent(hook->priv);
  pthread_mutex_unlock(&hook_lock);
}

void urcu_readmost_call_rcu_after_fork_child() {
  // As liburcu does, for programs that make workers anew.
  dissolve_workers();
  for (auto& of_cpu : workers_of_cpus) clear_where_set(of_cpu);
  if (hook != nullptr) hook->after_fork_child(hook->priv);
  pthread_mutex_unlock(&hook_lock);
}

// --- The flavor ----------------------------------------------------------------------------------

extern const flavor urcu_readmost_flavor;
constinit const flavor urcu_readmost_flavor{
    .read_lock = urcu_readmost_read_lock,
    .read_unlock = urcu_readmost_read_unlock,
    .read_ongoing = urcu_readmost_read_ongoing,
    .read_quiescent_state = urcu_readmost_quiescent_state,
    .update_call_rcu = urcu_readmost_call_rcu,
    .update_synchronize_rcu = urcu_readmost_synchronize_rcu,
    .update_defer_rcu = urcu_readmost_defer_rcu,
    .thread_offline = urcu_readmost_thread_offline,
    .thread_online = urcu_readmost_thread_online,
    .register_thread = urcu_readmost_register_thread,
    .unregister_thread = urcu_readmost_unregister_thread,
    .barrier = urcu_readmost_barrier,
    .register_rculfhash_atfork = urcu_readmost_register_rculfhash_atfork,
    .unregister_rculfhash_atfork = urcu_readmost_unregister_rculfhash_atfork,
    .update_start_poll_synchronize_rcu = urcu_readmost_start_poll_synchronize_rcu,
    .update_poll_state_synchronize_rcu = urcu_readmost_poll_state_synchronize_rcu,
};
}

#pragma GCC visibility pop
