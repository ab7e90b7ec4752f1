// SPDX-License-Identifier: Apache-2.0
/* The flavor "readmost" of liburcu, by its own names: for programs that use several flavors, or
 * pass one to liburcu's data structures:
 *
 *   table = cds_lfht_new_flavor(1, 1, 0, CDS_LFHT_AUTO_RESIZE, &urcu_readmost_flavor, NULL);
 *
 * <readmost/urcu.h> has the same by the names that every flavor has.
 *
 * Every function does what its namesake of liburcu's other flavors does (rcu-api.md of liburcu),
 * with the differences stated below. The flavor shares the readers and grace periods of the
 * process's domain with <readmost/rcu.hpp> and <readmost_rcu.h>.
 *
 * Needs liburcu's headers, 0.13 or later, for its types. Link with libreadmost; none of liburcu's
 * flavor libraries is needed. C99 and later with GNU extensions, as liburcu's headers themselves;
 * C++11 and later.
 */
#pragma once

#include <pthread.h>
#include <readmost.h>
#include <stdbool.h>
#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#if defined(__has_include)
#if __has_include(<urcu/urcu-poll.h>)
#include <urcu/urcu-poll.h>
#define READMOST_URCU_HAS_POLL
#endif
#endif
#if defined(READMOST_URCU_HAS_POLL)
#undef READMOST_URCU_HAS_POLL
#else
/* As of liburcu 0.14. */
struct urcu_gp_poll_state {
  unsigned long grace_period_id;
};
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Read sections ---------------------------------------------------------------------------- */

/* May be called in threads that are not registered, and in signal handlers. */
READMOST_API void urcu_readmost_read_lock(void);
READMOST_API void urcu_readmost_read_unlock(void);
READMOST_API int urcu_readmost_read_ongoing(void);

/* --- Threads ---------------------------------------------------------------------------------- */

/* None of these is needed. A thread registers with its first section, and goes offline when it ends
 * or does not read for a while. They work as hints: register does what the first section would do;
 * online and offline are readmost_online() and readmost_offline(); a quiescent state, which costs a
 * few ns, spares grace periods a membarrier for a busy thread that has not read lately. Unlike in
 * the flavor qsbr, a thread that is online is not inside a section: only read_lock() opens one. */
READMOST_API void urcu_readmost_init(void);
READMOST_API void urcu_readmost_register_thread(void);
READMOST_API void urcu_readmost_unregister_thread(void);
READMOST_API void urcu_readmost_thread_online(void);
READMOST_API void urcu_readmost_thread_offline(void);
READMOST_API void urcu_readmost_quiescent_state(void);

/* --- Grace periods ---------------------------------------------------------------------------- */

READMOST_API void urcu_readmost_synchronize_rcu(void);
READMOST_API struct urcu_gp_poll_state urcu_readmost_start_poll_synchronize_rcu(void);
/* The grace period makes progress only in such calls and in functions that wait for one. */
READMOST_API bool urcu_readmost_poll_state_synchronize_rcu(struct urcu_gp_poll_state state);

/* --- call_rcu --------------------------------------------------------------------------------- */

/* The function is called by the worker of the calling thread, which may be one itself; else by that
 * of its CPU, else by the library's own thread, which is the default worker. For that one it waits
 * above the limit of the backlog, 65,536 heads, at most 1 s for every 64 heads and not inside
 * sections: see readmost_rcu_limit_backlog() in <readmost_rcu.h>. The queues of other workers are
 * unlimited, as in liburcu. Otherwise lock-free. */
READMOST_API void urcu_readmost_call_rcu(struct rcu_head* head,
                                         void (*function)(struct rcu_head* head));
/* Waits for all workers and for deferred calls. In a function that call_rcu() calls, it waits for
 * all but that one; two such functions of different workers must not wait for each other. */
READMOST_API void urcu_readmost_barrier(void);

/* Workers. Each that is created has a thread and a queue; it shares grace periods with all others.
 * URCU_CALL_RCU_RT changes nothing: a worker never polls, and waking it is one system call. If no
 * thread can be started, the default worker does the work; without memory, create returns null and
 * sets errno to ENOMEM. free, which must not be called inside sections nor by the worker itself,
 * returns when the functions queued before have been called. What waits in a created worker when
 * the process exits is not called: use the barrier. */
READMOST_API struct call_rcu_data* urcu_readmost_create_call_rcu_data(unsigned long flags,
                                                                      int cpu_affinity);
READMOST_API void urcu_readmost_call_rcu_data_free(struct call_rcu_data* data);
READMOST_API struct call_rcu_data* urcu_readmost_get_default_call_rcu_data(void);
READMOST_API struct call_rcu_data* urcu_readmost_get_call_rcu_data(void);
READMOST_API struct call_rcu_data* urcu_readmost_get_thread_call_rcu_data(void);
READMOST_API void urcu_readmost_set_thread_call_rcu_data(struct call_rcu_data* data);
READMOST_API struct call_rcu_data* urcu_readmost_get_cpu_call_rcu_data(int cpu);
/* A worker that was set for a CPU is freed after a grace period from its removal. */
READMOST_API int urcu_readmost_set_cpu_call_rcu_data(int cpu, struct call_rcu_data* data);
READMOST_API int urcu_readmost_create_all_cpu_call_rcu_data(unsigned long flags);
READMOST_API void urcu_readmost_free_all_cpu_call_rcu_data(void);

/* Returns the worker's thread. For the default worker after a barrier; 0 inside a section; the
 * calling thread if reclaiming happens in place (READMOST_RCU_THREAD=0). */
READMOST_API pthread_t urcu_readmost_get_call_rcu_thread(struct call_rcu_data* data);

/* Needed by programs that fork while they use liburcu's hash tables, which have a thread of their
 * own. Heads that wait for a grace period go on waiting in the child in any case, but
 * after_fork_child also frees all created workers, as liburcu's does, whose heads go to the default
 * one; without it their threads are started again when they are needed. */
READMOST_API void urcu_readmost_call_rcu_before_fork(void);
READMOST_API void urcu_readmost_call_rcu_after_fork_parent(void);
READMOST_API void urcu_readmost_call_rcu_after_fork_child(void);

/* --- defer_rcu -------------------------------------------------------------------------------- */

/* Allocates; without memory it waits for a grace period instead. The function runs in the thread
 * that reclaims. Both barriers wait for the deferred calls of all threads, as
 * urcu_readmost_barrier(). */
READMOST_API void urcu_readmost_defer_rcu(void (*function)(void* p), void* p);
READMOST_API int urcu_readmost_defer_register_thread(void);
READMOST_API void urcu_readmost_defer_unregister_thread(void);
READMOST_API void urcu_readmost_defer_barrier(void);
READMOST_API void urcu_readmost_defer_barrier_thread(void);
READMOST_API void urcu_readmost_defer_exit(void);

/* --- For liburcu's data structures ------------------------------------------------------------ */

READMOST_API void urcu_readmost_register_rculfhash_atfork(struct urcu_atfork* atfork);
READMOST_API void urcu_readmost_unregister_rculfhash_atfork(struct urcu_atfork* atfork);

/* All of the above, in the form that liburcu's data structures take. */
READMOST_API extern const struct rcu_flavor_struct urcu_readmost_flavor;

#ifdef __cplusplus
}
#endif
