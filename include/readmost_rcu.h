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
 * No read section that is open after a grace period can reach an object that was unlinked before it
 * began, so the object may be reclaimed. A null domain is the process's domain; the grace periods
 * of a domain that a program creates do not wait for the readers of other domains.
 *
 * For every function:
 * Returns: 0 or an error number of <errno.h>, unless stated otherwise or void; errno itself is not
 * changed. A function that fails has no effect. Pointers, except to domains, must not be null.
 * Threads: all functions, without registration. Signals: handlers may call the read functions, poll
 * and start_poll, and no others. Processes: in the child of a fork, objects that wait go on
 * waiting; sections of threads that are not in the child are over. Progress: the read functions are
 * wait-free. Functions that wait spin briefly, then sleep (futex); a signal does not end a wait,
 * and no function is a cancellation point. C99 and later, C++11 and later. Link with libreadmost
 * and -pthread. <readmost/rcu.hpp> for C++20 has the same domains and grace periods;
 * <readmost/urcu.h> is for programs of liburcu. Source: FCP 5 (grace periods), RCU 3.1 (callbacks).
 */
#pragma once

#include <readmost.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Types ------------------------------------------------------------------------------------ */

/* A domain: see readmost_rcu_domain_create(). Null is the process's domain. */
typedef struct readmost_rcu_domain readmost_rcu_domain_t;

/* A member of objects that are passed to readmost_rcu_call(). Needs no initialization. Its members
 * are private to the library. */
struct readmost_rcu_head {
  struct readmost_rcu_head* readmost_next;
  void* readmost_how;
};

typedef void readmost_rcu_function_t(struct readmost_rcu_head* head);

/* A point in time, relative to the grace periods of one domain. */
typedef struct readmost_rcu_ticket {
  uint64_t readmost_grace_period;
} readmost_rcu_ticket_t;

/* --- Read sections ---------------------------------------------------------------------------- */

/* Opens a section of the calling thread; nothing that it can reach is reclaimed before it ends.
 * Sections nest, also those of different domains. A section may sleep, lock and last long; grace
 * periods wait for it. Never waits. Cost: 2 to 4 ns together with its unlock. */
READMOST_API void readmost_rcu_read_lock(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Closes the section that the calling thread opened last in the domain. Precondition: there is one.
 * Never waits; wakes threads that sleep until the section ends. */
READMOST_API void readmost_rcu_read_unlock(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Returns 1 if the calling thread is in a section of the domain, otherwise 0. */
READMOST_API int readmost_rcu_read_ongoing(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Loads a pointer that a writer may change at the same time; the object that it points to is
 * complete. Precondition: the caller is inside a section. `pointer` is a variable of pointer type.
 */
#define readmost_rcu_dereference(pointer) __atomic_load_n(&(pointer), __ATOMIC_ACQUIRE)

/* Publishes the object that `value` points to, with all that was written to it before. The compiler
 * rejects a value of another type. */
#define readmost_rcu_assign_pointer(pointer, value) \
  __atomic_store_n(&(pointer), 1 ? (value) : (pointer), __ATOMIC_RELEASE)

/* --- Lists ------------------------------------------------------------------------------------ */

/* An intrusive, circular, doubly linked list whose readers run while it is changed: a link of its
 * own stands before the first element and behind the last, and each element has one as a member.
 *
 *   struct route { struct readmost_rcu_link link; struct readmost_rcu_head head; ... };
 *   static struct readmost_rcu_link routes = READMOST_RCU_LIST(routes);
 *
 *   readmost_rcu_read_lock(NULL);
 *   for (struct readmost_rcu_link* at = readmost_rcu_list_next(&routes); at != &routes;
 *        at = readmost_rcu_list_next(at)) use(READMOST_RCU_ENTRY(at, struct route, link));
 *   readmost_rcu_read_unlock(NULL);
 *
 * A reader meets each element that is in the list throughout once, in order. An element that is
 * erased leads on into the list; it is to be reclaimed, or linked again, after a grace period.
 * readmost_rcu_list_next() is for readers inside a section: wait-free, one load. The others are for
 * writers, which the caller serialises: constant time, no wait. Not a part of the library. */
struct readmost_rcu_link {
  struct readmost_rcu_link* readmost_next;
  struct readmost_rcu_link* readmost_previous;
};

/* Initializes an empty list of static storage duration. */
#define READMOST_RCU_LIST(list) {&(list), &(list)}

/* The element of type `type` whose member `member` is *link. */
#define READMOST_RCU_ENTRY(link, type, member) \
  ((type*)(void*)((char*)(link) - offsetof(type, member)))

static inline void readmost_rcu_list_init(struct readmost_rcu_link* list) {
  list->readmost_next = list;
  list->readmost_previous = list;
}

/* The next element, or the list itself after the last one. */
static inline struct readmost_rcu_link* readmost_rcu_list_next(
    const struct readmost_rcu_link* link) {
  return __atomic_load_n(&link->readmost_next, __ATOMIC_ACQUIRE);
}

/* Links `fresh`, which is complete and in no list, behind `before`: an element, or the list itself
 * for the front. */
static inline void readmost_rcu_list_insert_after(struct readmost_rcu_link* before,
                                                  struct readmost_rcu_link* fresh) {
  struct readmost_rcu_link* const after = before->readmost_next;
  fresh->readmost_previous = before;
  __atomic_store_n(&fresh->readmost_next, after, __ATOMIC_RELAXED);
  __atomic_store_n(&before->readmost_next, fresh, __ATOMIC_RELEASE);
  after->readmost_previous = fresh;
}

/* Links `fresh` before `after`: an element, or the list itself for the back. */
static inline void readmost_rcu_list_insert_before(struct readmost_rcu_link* after,
                                                   struct readmost_rcu_link* fresh) {
  readmost_rcu_list_insert_after(after->readmost_previous, fresh);
}

/* Takes an element out. */
static inline void readmost_rcu_list_erase(struct readmost_rcu_link* old) {
  struct readmost_rcu_link* const after = old->readmost_next;
  after->readmost_previous = old->readmost_previous;
  __atomic_store_n(&old->readmost_previous->readmost_next, after, __ATOMIC_RELEASE);
}

/* Puts `fresh`, which is complete and in no list, in the place of `old`: a reader meets one of the
 * two. */
static inline void readmost_rcu_list_replace(struct readmost_rcu_link* old,
                                             struct readmost_rcu_link* fresh) {
  struct readmost_rcu_link* const after = old->readmost_next;
  fresh->readmost_previous = old->readmost_previous;
  __atomic_store_n(&fresh->readmost_next, after, __ATOMIC_RELAXED);
  __atomic_store_n(&old->readmost_previous->readmost_next, fresh, __ATOMIC_RELEASE);
  after->readmost_previous = fresh;
}

/* --- Grace periods ---------------------------------------------------------------------------- */

/* Returns when every section of the domain that was open at the call is over. Concurrent callers
 * share grace periods. Cost: less than 1 us against hot readers; one membarrier(2) of about 2 us if
 * a thread does not report by itself. EDEADLK: the caller is in a section of the domain and would
 * wait for itself. */
READMOST_API int readmost_rcu_synchronize(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* The same; executes the membarrier at once instead of giving threads time to report. */
READMOST_API int readmost_rcu_synchronize_expedited(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Returns a ticket for the present. May be called inside a section. Never waits. */
READMOST_API READMOST_CHECKED readmost_rcu_ticket_t
readmost_rcu_start_poll(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Returns 1 if a full grace period has passed since the ticket was taken, otherwise 0. Never waits.
 * The grace period makes progress only in such calls and in functions that wait for one. */
READMOST_API READMOST_CHECKED int readmost_rcu_poll(readmost_rcu_domain_t* domain,
                                                    readmost_rcu_ticket_t ticket) READMOST_NOTHROW;

/* Waits until a full grace period has passed since the ticket was taken. EDEADLK as for
 * readmost_rcu_synchronize(), unless it has passed already. */
READMOST_API int readmost_rcu_cond_synchronize(readmost_rcu_domain_t* domain,
                                               readmost_rcu_ticket_t ticket) READMOST_NOTHROW;

/* --- Reclaiming ------------------------------------------------------------------------------- */

/* Calls `function(head)` once after a grace period, in a thread of the library's own, with all
 * signals blocked. Functions passed by one thread are called in that order. The function may free
 * the memory of the head, call any function of this header, lock and sleep. `bytes`, the memory
 * that it gives back, counts towards the limit of the backlog, rounded up to a power of two.
 * Allocates nothing. May be called inside sections. Wait-free below the limit of the backlog: see
 * readmost_rcu_limit_backlog(). When the process ends by exit(3), objects that wait are reclaimed,
 * except those that a reader still uses after a second. EINVAL: null function. */
READMOST_API int readmost_rcu_call(readmost_rcu_domain_t* domain, struct readmost_rcu_head* head,
                                   readmost_rcu_function_t* function,
                                   size_t bytes) READMOST_NOTHROW;

/* Waits until the functions of all earlier calls have returned; inside such a function, all but
 * that one. Implies no grace period if nothing waits. EDEADLK: the caller is in a section of the
 * domain. */
READMOST_API int readmost_rcu_barrier(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Starts to reclaim, with an expedited grace period. Does not wait. */
READMOST_API void readmost_rcu_hurry(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Sets the limit of the backlog, in objects and in bytes (at first 65,536 and 32 MiB); 64 objects
 * or 64 KiB for each thread come in addition. Above the limit, a thread that calls
 * readmost_rcu_call() waits until the backlog is a quarter below it: at most 0.1 s for every 64
 * objects, and not inside sections of the domain and functions that reclaim. */
READMOST_API void readmost_rcu_limit_backlog(readmost_rcu_domain_t* domain, uint64_t objects,
                                             uint64_t bytes) READMOST_NOTHROW;

/* The thread that calls the functions. */
enum {
  /* A thread of the library's own, started when something is first to be reclaimed. */
  READMOST_RCU_IN_BACKGROUND = 0,
  /* Threads that call readmost_rcu_call(), after every 64 objects, and threads that wait in
   * readmost_rcu_barrier(), outside of sections. Also chosen by READMOST_RCU_THREAD=0 in the
   * environment, and if no thread can be started. */
  READMOST_RCU_IN_PLACE = 1
};

/* Precondition: no readmost_rcu_call() in the domain yet. EINVAL: `who` is neither of these. */
READMOST_API int readmost_rcu_reclaim_by(readmost_rcu_domain_t* domain, int who) READMOST_NOTHROW;

/* --- Domains ---------------------------------------------------------------------------------- */

/* Creates a domain. EAGAIN: there are 15 domains already, including those of locks and of C++; use
 * null, the process's domain. Does not allocate from the heap. */
READMOST_API READMOST_CHECKED int readmost_rcu_domain_create(readmost_rcu_domain_t** domain)
    READMOST_NOTHROW;

/* Reclaims all that waits in the domain, then ends it. Precondition: no section of the domain is
 * open, no other thread uses it any more, and the caller is not a function that reclaims in it.
 * EINVAL: null, the process's domain. EDEADLK: the caller is in a section of the domain. */
READMOST_API int readmost_rcu_domain_destroy(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* --- Statistics ------------------------------------------------------------------------------- */

/* Counts since the process began; exact while no thread makes calls. */
typedef struct readmost_rcu_statistics {
  uint64_t grace_periods;
  uint64_t by_membarrier; /* of them: those in which some thread did not report by itself */
  uint64_t asleep;        /* of them: those that slept until a reader left */
  uint64_t retired;       /* objects passed to readmost_rcu_call() */
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
