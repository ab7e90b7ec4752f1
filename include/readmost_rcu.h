/* Readmost for C: read-copy update, with readers that execute no atomic and no fence and grace
 * periods of microseconds.
 *
 *   struct config { struct readmost_rcu_head head; ... };
 *   static struct config* current;
 *   static void release(struct readmost_rcu_head* head) { free(head); }  // the first member
 *
 *   readmost_rcu_read_lock(NULL);
 *   use(readmost_rcu_dereference(current));
 *   readmost_rcu_read_unlock(NULL);
 *
 *   struct config* old = current;  // one writer at a time
 *   readmost_rcu_assign_pointer(current, fresh);
 *   readmost_rcu_call(NULL, &old->head, release, sizeof *old);
 *
 * What is unlinked before a grace period begins is seen by no read section that is open after it:
 * so it may be reclaimed then. The process has one domain of readers, which a null domain stands
 * for; a domain of one's own has grace periods that do not wait for the readers of others.
 *
 * What holds for every function:
 * Returns: where it is not void, 0 or an error number of <errno.h>, or what is said there; errno
 * itself is left alone. A function that fails has changed nothing. Pointers must not be null but
 * for domains.
 * Threads: all functions, no registration. Signals: the read functions, poll and start_poll may be
 * used in a handler; others may not. Processes: in a fork's child all that waited waits on; the
 * sections of threads that are no more are over.
 * Progress: the read functions are wait-free. What waits spins briefly, then sleeps (futex); a
 * signal does not end a wait, and no function is a cancellation point.
 * C99 and later, C++11 and later. Link with libreadmost and -pthread. For C++20 there is
 * <readmost/rcu.hpp>, of which these are the same domains and grace periods, and for programs of
 * liburcu <readmost/urcu.h>.
 * Source: FCP 5 (grace periods), RCU 3.1 (callbacks).
 */
#pragma once

#include <readmost.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Types ------------------------------------------------------------------------------------ */

/* A domain: see readmost_rcu_domain_create(). Where one is asked for, null is the process's. */
typedef struct readmost_rcu_domain readmost_rcu_domain_t;

/* What an object needs to be given to readmost_rcu_call(): 16 bytes, of any content before. The
 * members are not for programs. */
struct readmost_rcu_head {
  struct readmost_rcu_head* readmost_next;
  void* readmost_how;
};

typedef void readmost_rcu_function_t(struct readmost_rcu_head* head);

/* A point in time, to be compared with grace periods of the same domain. */
typedef struct readmost_rcu_ticket {
  uint64_t readmost_grace_period;
} readmost_rcu_ticket_t;

/* --- Read sections ---------------------------------------------------------------------------- */

/* Opens a section of the calling thread; it sees nothing reclaimed that it could reach. Sections
 * nest, also of different domains; a section may sleep, lock and last long, and what waits for it
 * waits as long. Never waits. Cost: with its unlock 2 to 4 ns. */
READMOST_API void readmost_rcu_read_lock(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Closes the section that the calling thread opened last in the domain. Precondition: there is one.
 * Never waits; wakes whoever sleeps until the section is over. */
READMOST_API void readmost_rcu_read_unlock(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* 1 if the calling thread is in a section of the domain, otherwise 0. */
READMOST_API int readmost_rcu_read_ongoing(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Reads a pointer that a writer may change meanwhile, so that what it points to is seen as it was
 * when it was assigned. Inside a section; `pointer` is a variable of pointer type. */
#define readmost_rcu_dereference(pointer) __atomic_load_n(&(pointer), __ATOMIC_ACQUIRE)

/* Publishes what `value` points to, with all that was written to it before, and may be met by
 * readers from then on. A value of another type is noticed by the compiler. */
#define readmost_rcu_assign_pointer(pointer, value) \
  __atomic_store_n(&(pointer), 1 ? (value) : (pointer), __ATOMIC_RELEASE)

/* --- Grace periods ---------------------------------------------------------------------------- */

/* Returns when every section of the domain that was open at the call is over. Shared with other
 * callers and with the writers of locks. Cost: less than 1 us against hot readers, one
 * membarrier(2) of about 2 us when a thread does not report by itself. EDEADLK: the caller is in a
 * section of the domain, and would wait for itself. */
READMOST_API int readmost_rcu_synchronize(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* The same with the membarrier at once instead of giving threads the time to report. */
READMOST_API int readmost_rcu_synchronize_expedited(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* A ticket for now, also inside a section. Never waits. */
READMOST_API READMOST_CHECKED readmost_rcu_ticket_t
readmost_rcu_start_poll(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* 1 if a full grace period has been over since the ticket was taken, otherwise 0. Never waits; it
 * works towards the end itself, so somebody has to go on asking. */
READMOST_API READMOST_CHECKED int readmost_rcu_poll(readmost_rcu_domain_t* domain,
                                                    readmost_rcu_ticket_t ticket) READMOST_NOTHROW;

/* Returns when that is so. EDEADLK as readmost_rcu_synchronize(), unless it is so already. */
READMOST_API int readmost_rcu_cond_synchronize(readmost_rcu_domain_t* domain,
                                               readmost_rcu_ticket_t ticket) READMOST_NOTHROW;

/* --- Reclaiming ------------------------------------------------------------------------------- */

/* Has `function(head)` called after a grace period, once, in a thread of the library's own, with
 * all signals blocked; in the order of the calls as far as they come from one thread. The function
 * may free the memory of the head, call any function here, lock and sleep. `bytes` is what it will
 * give back, for the limit of the backlog, rounded up to a power of two; 0 counts for nothing.
 * Allocates nothing. Also inside sections. Wait-free, but above the limit of the backlog: see
 * readmost_rcu_limit_backlog(). At the process's end, by exit(3), what waits is reclaimed, but for
 * what a reader keeps longer than a second. EINVAL: null function. */
READMOST_API int readmost_rcu_call(readmost_rcu_domain_t* domain, struct readmost_rcu_head* head,
                                   readmost_rcu_function_t* function,
                                   size_t bytes) READMOST_NOTHROW;

/* Returns when the functions of all calls made before it have returned; in such a function, but for
 * that one itself. Implies no grace period where nothing waits. EDEADLK: the caller is in a section
 * of the domain. */
READMOST_API int readmost_rcu_barrier(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Starts reclaiming at once, with an expedited grace period. Does not wait. */
READMOST_API void readmost_rcu_hurry(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* How much may wait, in objects and in bytes (at first 65,536 and 32 MiB) and 64 objects or 64 KiB
 * for each thread besides. Above it a thread that calls readmost_rcu_call() waits until the backlog
 * is a quarter below: at most 0.1 s for every 64 objects, and not inside sections of the domain and
 * functions that reclaim. */
READMOST_API void readmost_rcu_limit_backlog(readmost_rcu_domain_t* domain, uint64_t objects,
                                             uint64_t bytes) READMOST_NOTHROW;

/* Who calls the functions. */
enum {
  /* A thread of the library's own, started when something is first to be reclaimed. */
  READMOST_RCU_IN_BACKGROUND = 0,
  /* Whoever makes the calls, after every 64 objects, and whoever waits in readmost_rcu_barrier(),
   * outside of sections. Also by READMOST_RCU_THREAD=0 in the environment, and where no thread can
   * be started. */
  READMOST_RCU_IN_PLACE = 1
};

/* Before the first readmost_rcu_call() in the domain. EINVAL: `who` is neither. */
READMOST_API int readmost_rcu_reclaim_by(readmost_rcu_domain_t* domain, int who) READMOST_NOTHROW;

/* --- Domains ---------------------------------------------------------------------------------- */

/* Makes a domain. EAGAIN: there are 15 domains, those of locks and of C++ counted; null, the
 * process's domain, works as well. Allocates nothing of the heap. */
READMOST_API READMOST_CHECKED int readmost_rcu_domain_create(readmost_rcu_domain_t** domain)
    READMOST_NOTHROW;

/* Reclaims all that waits in the domain, then ends it. Precondition: no section of the domain is
 * open, nobody will use it any more, and the caller is no function that it reclaims by. EINVAL:
 * null, the process's domain. EDEADLK: the caller is in a section of the domain. */
READMOST_API int readmost_rcu_domain_destroy(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* --- Statistics ------------------------------------------------------------------------------- */

/* Counts since the process began; exact when nobody is making calls. */
typedef struct readmost_rcu_statistics {
  uint64_t grace_periods;
  uint64_t by_membarrier; /* of them: some thread did not report by itself */
  uint64_t asleep;        /* of them: slept until a reader left */
  uint64_t retired;       /* objects given to be reclaimed */
  uint64_t reclaimed;
  uint64_t waiting; /* for their grace period or their function */
  uint64_t waiting_bytes;
  int64_t waits_for;    /* the thread (gettid(2)) that the grace period waits for; 0: none */
  uint64_t waits_since; /* nanoseconds of CLOCK_MONOTONIC when that grace period began */
  uint64_t readmost_reserved[7];
} readmost_rcu_statistics_t;

READMOST_API void readmost_rcu_statistics(readmost_rcu_domain_t* domain,
                                          readmost_rcu_statistics_t* figures) READMOST_NOTHROW;

#ifdef __cplusplus
}
#endif
