// SPDX-License-Identifier: Apache-2.0
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

/* Calls `function(head)` once after a grace period, in a thread of the library's own, in which
 * asynchronous signals are blocked. Functions passed by one thread are called in that order, one at
 * a time; but if one takes longer than 0.1 to 0.2 s while others wait, these are called in another
 * thread meanwhile: see readmost_rcu_limit_reclaimers(). The function may free the memory of the
 * head, call any function of this header, lock and sleep. `bytes`, the memory that it gives back,
 * counts towards the limit of the backlog, rounded up to a power of two, at most 2 to the power of
 * 47. Allocates nothing. May be called inside sections. Wait-free below the limit of the backlog:
 * see readmost_rcu_limit_backlog(). When the process ends by exit(3), objects that wait are
 * reclaimed, before the functions of atexit(3) are called, unless none has been for a second;
 * afterwards only readmost_rcu_barrier() calls functions. EINVAL: null function. */
READMOST_API int readmost_rcu_call(readmost_rcu_domain_t* domain, struct readmost_rcu_head* head,
                                   readmost_rcu_function_t* function,
                                   size_t bytes) READMOST_NOTHROW;

/* The same, but never waits, also inside sections. EAGAIN: the backlog is above its limit; nothing
 * is queued. EINVAL: null function. */
READMOST_API READMOST_CHECKED int readmost_rcu_try_call(readmost_rcu_domain_t* domain,
                                                        struct readmost_rcu_head* head,
                                                        readmost_rcu_function_t* function,
                                                        size_t bytes) READMOST_NOTHROW;

/* Waits until the functions of all earlier calls have returned; inside such a function, all but
 * those that had begun before. Implies no grace period if nothing waits. EDEADLK: the caller is in
 * a section of the domain. */
READMOST_API int readmost_rcu_barrier(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Starts to reclaim at once, whatever the laziness, with an expedited grace period. Does not wait.
 */
READMOST_API void readmost_rcu_hurry(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* Sets the longest time that retired objects wait for others to share a grace period (at first
 * 10,000 us); 0: a grace period begins at once for each. The first object after a pause never
 * waits, nor do objects for which readmost_rcu_barrier() or readmost_rcu_hurry() is called. */
READMOST_API void readmost_rcu_limit_laziness(readmost_rcu_domain_t* domain,
                                              uint64_t microseconds) READMOST_NOTHROW;

/* Sets how many threads of the library may call functions at a time (at first 4); 1 or 0: functions
 * are never called side by side, and one that takes long delays all. There are several threads only
 * while a function takes long. */
READMOST_API void readmost_rcu_limit_reclaimers(readmost_rcu_domain_t* domain,
                                                unsigned int most) READMOST_NOTHROW;

/* Sets the limit of the backlog, in objects and in bytes (at first 65,536 and 32 MiB); 64 objects
 * or 64 KiB for each thread come in addition. Above the limit, a thread that calls
 * readmost_rcu_call() outside of sections of the domain and of functions that reclaim does what the
 * domain's policy says. */
READMOST_API void readmost_rcu_limit_backlog(readmost_rcu_domain_t* domain, uint64_t objects,
                                             uint64_t bytes) READMOST_NOTHROW;

/* What a thread does above the limit. */
enum {
  /* The default: waits, up to 1 s for every 64 objects, until the backlog is a quarter below the
   * limit. But while nothing is reclaimed, because a reader stays or a function does not return, no
   * thread waits for longer than 0.1 s, and the backlog grows. */
  READMOST_RCU_PACE = 0,
  /* Waits until the backlog is a quarter below the limit, however long that takes. The caller must
   * not hold a lock that a reader or a function takes. */
  READMOST_RCU_BLOCK = 1,
  /* Goes on; the library warns on stderr. */
  READMOST_RCU_WARN = 2
};

/* EINVAL: `policy` is none of these. */
READMOST_API int readmost_rcu_backlog_policy(readmost_rcu_domain_t* domain,
                                             int policy) READMOST_NOTHROW;

/* The library warns on stderr, once for each grace period and domain, of a grace period that has
 * been waiting for a reader for so long, and of functions that take more than a second. At first
 * 10,000 ms, or what READMOST_RCU_STALL_LIMIT says; 0: never. For all domains. */
READMOST_API void readmost_rcu_warn_of_stalls_after(uint64_t milliseconds) READMOST_NOTHROW;

/* The thread that calls the functions. */
enum {
  /* A thread of the library's own, started when something is first to be reclaimed; more while a
   * function takes long. */
  READMOST_RCU_IN_BACKGROUND = 0,
  /* Threads that call readmost_rcu_call(), after every 64 objects, and threads that wait in
   * readmost_rcu_barrier(), outside of sections. Also chosen by READMOST_RCU_THREAD=0 in the
   * environment. */
  READMOST_RCU_IN_PLACE = 1,
  /* Threads that call readmost_rcu_reclaim() or readmost_rcu_barrier(), and the end of the process.
   */
  READMOST_RCU_ON_REQUEST = 2
};

/* Precondition: no readmost_rcu_call() in the domain yet. EINVAL: `who` is neither of these. */
READMOST_API int readmost_rcu_reclaim_by(readmost_rcu_domain_t* domain, int who) READMOST_NOTHROW;

/* Calls, in the calling thread and without waiting, the functions whose grace period is over,
 * unless another thread does so at present, or the caller is in a section of the domain or in such
 * a function. Returns 1 if some are left, otherwise 0. */
READMOST_API int readmost_rcu_reclaim(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* --- Domains ---------------------------------------------------------------------------------- */

/* Creates a domain. EAGAIN: there are 15 domains already, including those of locks and of C++; use
 * null, the process's domain. Does not allocate from the heap. */
READMOST_API READMOST_CHECKED int readmost_rcu_domain_create(readmost_rcu_domain_t** domain)
    READMOST_NOTHROW;

/* Reclaims all that waits in the domain, and what is retired in it meanwhile, then ends it.
 * Precondition: no section of the domain is open, and no other thread uses it any more. A function
 * that reclaims in the domain may destroy it, and must not use it afterwards.
 * EINVAL: null, the process's domain. EDEADLK: the caller is in a section of the domain. */
READMOST_API int readmost_rcu_domain_destroy(readmost_rcu_domain_t* domain) READMOST_NOTHROW;

/* --- Hash tables ------------------------------------------------------------------------------ */

/* A hash table whose lookups run at the speed of a plain one, also while it is resized: they write
 * nothing shared, wait for nothing, never start again, and find every object that is in the table
 * throughout the lookup. Keys are the caller's: it passes their hash values, which need not be good
 * ones, and compares.
 *
 *   struct session { char name[16]; struct readmost_rcu_table_head head; ... };
 *   static int has_name(const struct readmost_rcu_table_head* head, const void* name) {
 *     return strcmp(READMOST_RCU_ENTRY(head, struct session, head)->name, name) == 0;
 *   }
 *   readmost_rcu_table_create(&sessions, NULL, has_name, 0);
 *
 *   readmost_rcu_read_lock(NULL);
 *   struct readmost_rcu_table_head* found = readmost_rcu_table_find(sessions, hash(name), name);
 *   if (found != NULL) use(READMOST_RCU_ENTRY(found, struct session, head));
 *   readmost_rcu_read_unlock(NULL);
 *
 * An object that readers may have found does not change: a writer puts another one in its place.
 * Writers: any number of threads at once, inside sections or not. Each takes one of 16 mutexes, by
 * the hash of the key, and none waits for a reader, except while the backlog is above its limit.
 * They resize the table as they come by. Functions that they are given are called with the mutex
 * held: these must not write to the same table nor wait for grace periods. The child of a fork must
 * not write if another thread may have been writing. <readmost/rcu_hash_map.hpp> for C++20 says
 * more. Source: relativistic hash tables (Triplett, McKenney, Walpole, USENIX ATC 2011). */
typedef struct readmost_rcu_table readmost_rcu_table_t;

/* A member of objects that are put into a table. Needs no initialization. Its members are private
 * to the library. */
struct readmost_rcu_table_head {
  uint64_t readmost_private[6];
};

/* Returns other than 0 if the object has the key. */
typedef int readmost_rcu_table_equal_t(const struct readmost_rcu_table_head* head, const void* key);
typedef void readmost_rcu_table_function_t(struct readmost_rcu_table_head* head);
typedef void readmost_rcu_table_visit_t(struct readmost_rcu_table_head* head, void* argument);
/* Returns other than 0 to choose the object. */
typedef int readmost_rcu_table_choose_t(const struct readmost_rcu_table_head* head, void* argument);

/* Creates a table whose readers use sections of the domain, which must outlive it. `buckets`: their
 * least number, now and later; at least 16. EINVAL: null function, or more buckets than memory can
 * hold. ENOMEM. */
READMOST_API READMOST_CHECKED int readmost_rcu_table_create(readmost_rcu_table_t** table,
                                                            readmost_rcu_domain_t* domain,
                                                            readmost_rcu_table_equal_t* equal,
                                                            uint64_t buckets) READMOST_NOTHROW;

/* Calls the functions of the objects that are left, then ends the table. Precondition: no thread
 * uses the table or reads an object. */
READMOST_API void readmost_rcu_table_destroy(readmost_rcu_table_t* table) READMOST_NOTHROW;

/* Returns the object with the key, or null. Precondition: the caller is inside a section, which
 * must last until it is done with the object. Wait-free and signal-safe if `equal` is. */
READMOST_API READMOST_CHECKED struct readmost_rcu_table_head* readmost_rcu_table_find(
    const readmost_rcu_table_t* table, uint64_t hash, const void* key) READMOST_NOTHROW;

/* Puts an object in unless one has its key. `function(head)` is called once after the object has
 * been taken out, as by readmost_rcu_call(); for `bytes` see there. Not while the object is in a
 * table or waits for its function. EEXIST: an object has the key. EINVAL: null function. */
READMOST_API READMOST_CHECKED int readmost_rcu_table_insert(readmost_rcu_table_t* table,
                                                            struct readmost_rcu_table_head* head,
                                                            uint64_t hash, const void* key,
                                                            readmost_rcu_table_function_t* function,
                                                            size_t bytes) READMOST_NOTHROW;

/* The same, in the place of the object that has the key, if one has. */
READMOST_API int readmost_rcu_table_put(readmost_rcu_table_t* table,
                                        struct readmost_rcu_table_head* head, uint64_t hash,
                                        const void* key, readmost_rcu_table_function_t* function,
                                        size_t bytes) READMOST_NOTHROW;

/* Puts `fresh`, which has the same key, in the place of `old`, which the caller has found in the
 * section that it is in: to change an object, replace it by a changed copy, and begin again if it
 * is gone. ENOENT: `old` is not in the table any more. EINVAL: null function. */
READMOST_API READMOST_CHECKED int readmost_rcu_table_replace(
    readmost_rcu_table_t* table, struct readmost_rcu_table_head* old,
    struct readmost_rcu_table_head* fresh, readmost_rcu_table_function_t* function,
    size_t bytes) READMOST_NOTHROW;

/* Takes the object with the key out. ENOENT: none has it. */
READMOST_API int readmost_rcu_table_erase(readmost_rcu_table_t* table, uint64_t hash,
                                          const void* key) READMOST_NOTHROW;

/* Takes out an object that the caller has found in the section that it is in. ENOENT: it is not in
 * the table any more. */
READMOST_API int readmost_rcu_table_erase_object(
    readmost_rcu_table_t* table, struct readmost_rcu_table_head* head) READMOST_NOTHROW;

/* Takes the objects out that `choose` chooses, which is called once for each that is in the table
 * throughout; returns how many. Between batches it may wait for the backlog to become smaller,
 * unless the caller is inside a section. */
READMOST_API uint64_t readmost_rcu_table_erase_if(readmost_rcu_table_t* table,
                                                  readmost_rcu_table_choose_t* choose,
                                                  void* argument) READMOST_NOTHROW;

/* Calls `visit` for each object, inside a section: once for each that is in the table throughout,
 * at most once for each key that comes or goes meanwhile. */
READMOST_API void readmost_rcu_table_for_each(const readmost_rcu_table_t* table,
                                              readmost_rcu_table_visit_t* visit,
                                              void* argument) READMOST_NOTHROW;

/* The number of objects; exact while there is no writer. */
READMOST_API uint64_t readmost_rcu_table_size(const readmost_rcu_table_t* table) READMOST_NOTHROW;
/* The number of buckets at present. */
READMOST_API uint64_t readmost_rcu_table_buckets(const readmost_rcu_table_t* table)
    READMOST_NOTHROW;

/* Gives the table buckets for so many objects, if there is memory. Waits for grace periods, so the
 * caller must hold no lock that is also taken inside sections of the domain; inside a section it
 * begins the resize and does not wait. EINVAL: more objects than memory can hold. */
READMOST_API int readmost_rcu_table_reserve(readmost_rcu_table_t* table,
                                            uint64_t objects) READMOST_NOTHROW;

/* --- Tables by id ----------------------------------------------------------------------------- */

/* A table of objects that are found by id. No id is given out twice by a table: the upper 32 bits
 * count the objects that have had the same slot, and a slot whose counts are used up stays empty; 0
 * is never an id. Each object has a lock; whoever holds it is alone with the object, except for
 * readers inside a section, which take no lock. An object that is locked stays in the table until
 * it is unlocked, unless the holder erases it. A holder needs no section and delays no grace
 * period, so it may wait for one; a thread that waits for a lock does so outside of sections,
 * unless the caller is inside one. <readmost/id_table.hpp> for C++20 says what the functions cost.
 * Source: RCU 5.1. */
typedef struct readmost_id_table readmost_id_table_t;

/* A member of objects that are put into a table. Needs no initialization. Its members are private
 * to the library. */
struct readmost_id_head {
  uint64_t readmost_private[7];
};

typedef void readmost_id_function_t(struct readmost_id_head* head);
typedef void readmost_id_visit_t(struct readmost_id_head* head, uint64_t id, void* argument);

/* Creates a table whose readers use sections of the domain, which must outlive it. `most`: objects
 * at a time, up to 2 to the power of 32, which 0 stands for. EINVAL: more. ENOMEM. */
READMOST_API READMOST_CHECKED int readmost_id_table_create(readmost_id_table_t** table,
                                                           readmost_rcu_domain_t* domain,
                                                           uint64_t most) READMOST_NOTHROW;

/* Calls the functions of the objects that are left, then ends the table. Precondition: no thread
 * uses the table, holds a lock of an object or reads one. */
READMOST_API void readmost_id_table_destroy(readmost_id_table_t* table) READMOST_NOTHROW;

/* Puts an object in and stores its id. `function(head)` is called once after the object has been
 * taken out, as by readmost_rcu_call(); for `bytes` see there. Waits for other writers; doubles the
 * table if it has no free slot. Not while the object is in a table or waits for its function.
 * EINVAL: null function. ENOSPC: the table has as many objects as it may, or all ids are used up.
 * ENOMEM. */
READMOST_API int readmost_id_table_insert(readmost_id_table_t* table, struct readmost_id_head* head,
                                          readmost_id_function_t* function, size_t bytes,
                                          uint64_t* id) READMOST_NOTHROW;

/* Returns the object, or null if none has that id any more. Precondition: the caller is inside a
 * section, which must last until it is done with the object. Wait-free, signal-safe. */
READMOST_API READMOST_CHECKED struct readmost_id_head* readmost_id_table_find(
    readmost_id_table_t* table, uint64_t id) READMOST_NOTHROW;

/* Waits for the object's lock. ENOENT: no object has that id any more, also if it was taken out
 * during the wait. Precondition: the caller does not hold the object's lock. */
READMOST_API READMOST_CHECKED int readmost_id_table_lock(
    readmost_id_table_t* table, uint64_t id, struct readmost_id_head** head) READMOST_NOTHROW;

/* The same without waiting. EBUSY: another thread holds the lock. */
READMOST_API READMOST_CHECKED int readmost_id_table_trylock(
    readmost_id_table_t* table, uint64_t id, struct readmost_id_head** head) READMOST_NOTHROW;

/* Releases an object's lock. Any thread may do so for the holder. */
READMOST_API void readmost_id_table_unlock(struct readmost_id_head* head) READMOST_NOTHROW;

/* Takes an object out, after waiting for its lock. ENOENT: no object has that id any more.
 * Precondition: the caller does not hold the object's lock. */
READMOST_API int readmost_id_table_erase(readmost_id_table_t* table, uint64_t id) READMOST_NOTHROW;

/* Takes out an object whose lock the caller holds, and releases the lock. */
READMOST_API void readmost_id_table_erase_locked(readmost_id_table_t* table,
                                                 struct readmost_id_head* head) READMOST_NOTHROW;

/* The id of an object that the caller has found or locked. */
READMOST_API uint64_t readmost_id_table_id(const struct readmost_id_head* head) READMOST_NOTHROW;

/* Calls `visit` for each object, inside a section: once for each that is in the table throughout.
 * `visit` takes no lock of an object unless no holder of one waits for a grace period. */
READMOST_API void readmost_id_table_for_each(readmost_id_table_t* table, readmost_id_visit_t* visit,
                                             void* argument) READMOST_NOTHROW;

/* The number of objects; exact while there is no writer. */
READMOST_API uint64_t readmost_id_table_size(const readmost_id_table_t* table) READMOST_NOTHROW;

/* Gives the table slots for so many objects. EINVAL: more than the table may have. ENOMEM. */
READMOST_API int readmost_id_table_reserve(readmost_id_table_t* table,
                                           uint64_t objects) READMOST_NOTHROW;

/* Gives back the slots behind the last object. ENOMEM. */
READMOST_API int readmost_id_table_shrink(readmost_id_table_t* table) READMOST_NOTHROW;

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
