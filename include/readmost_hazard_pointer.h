// SPDX-License-Identifier: Apache-2.0
/* Readmost for C: hazard pointers, which execute no atomic read-modify-write and no fence.
 *
 *   struct config { struct readmost_hazard_head head; ... };  // the head is the first member
 *   static struct config* current;
 *   static void release(struct readmost_hazard_head* head) { free(head); }
 *
 *   readmost_hazard_pointer_t hazard;  // of this thread
 *   if (readmost_hazard_pointer_create(&hazard) != 0) ...
 *   use(readmost_hazard_protect(&hazard, current));
 *   readmost_hazard_pointer_reset(&hazard);  // not used any more
 *
 *   struct config* old = readmost_hazard_exchange(current, fresh);
 *   readmost_hazard_retire(&old->head, release, sizeof *old);
 *
 * An object that is retired is reclaimed once no hazard pointer protects it. Unlike a section of
 * readmost_rcu.h, a hazard pointer delays the reclamation of one object only, however long it is
 * held. A pointer that is protected leads to the head: it points to the head itself, or to an
 * object whose first member the head is.
 *
 * For every function:
 * Returns: 0 or an error number of <errno.h>, unless stated otherwise or void; errno itself is not
 * changed. A function that fails has no effect. Pointers must not be null. Threads: all functions,
 * without registration. A hazard pointer is used by one thread at a time; it may be copied into
 * another variable, which then is the hazard pointer, and be moved to another thread. Signals:
 * handlers may create, use and destroy hazard pointers of their own, but must not retire.
 * Processes: in the child of a fork, what any thread of the parent protected stays protected.
 * Progress: readmost_hazard_protect() is lock-free; the others are wait-free, except where they map
 * memory or call functions of the program. No function is a cancellation point. C99 and later,
 * C++11 and later. Link with libreadmost and -pthread. <readmost/hazard_pointer.hpp> for C++20 has
 * the same hazard pointers and says more; objects of both are reclaimed by the same scans. Source:
 * M. Michael, "Hazard Pointers", IEEE TPDS 2004.
 */
#pragma once

#include <readmost_rcu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Types ------------------------------------------------------------------------------------ */

/* A hazard pointer. Empty if all bytes are zero. Its member is private to the library. */
typedef struct readmost_hazard_pointer {
  void* readmost_slot;
} readmost_hazard_pointer_t;

/* A member of objects that hazard pointers protect: the first one, unless pointers to the objects
 * point to it. Needs no initialization. Its members are private to the library. */
struct readmost_hazard_head {
  struct readmost_hazard_head* readmost_next;
  const void* readmost_how;
  void (*readmost_function)(struct readmost_hazard_head* head);
  size_t readmost_bytes;
};

typedef void readmost_hazard_function_t(struct readmost_hazard_head* head);

/* --- Hazard pointers -------------------------------------------------------------------------- */

/* Makes a hazard pointer, which protects nothing. ENOMEM: no memory; `hazard` is empty. Cost: a few
 * ns. */
READMOST_API READMOST_CHECKED int readmost_hazard_pointer_create(readmost_hazard_pointer_t* hazard)
    READMOST_NOTHROW;

/* Ends the hazard pointer, which then protects nothing and is empty. Has no effect on an empty one.
 */
READMOST_API void readmost_hazard_pointer_destroy(readmost_hazard_pointer_t* hazard)
    READMOST_NOTHROW;

/* --- Protecting. Precondition of all: `hazard` is not empty ----------------------------------- */

/* Protects the object that `pointer` points to, a variable of pointer type which writers may change
 * at the same time, and returns that; the object is complete. What `hazard` protected before it
 * does not any more, and for null it protects nothing. Cost: a call, and about 2 ns more than the
 * loads of the pointer. */
#define readmost_hazard_protect(hazard, pointer) \
  ((__typeof__(&*(pointer)))readmost_hazard_pointer_protect((hazard), &(pointer)))

/* Protects the object that `expected` points to if `pointer` does so too, and returns 1. Otherwise
 * protects nothing, stores the value of `pointer` in `expected`, and returns 0. Both are variables
 * of one type. */
#define readmost_hazard_try_protect(hazard, expected, pointer) \
  ((void)sizeof(&(expected) == &(pointer)),                    \
   readmost_hazard_pointer_try_protect((hazard), &(expected), &(pointer)))

/* What the macros call, with the addresses of the variables. */
READMOST_API void* readmost_hazard_pointer_protect(readmost_hazard_pointer_t* hazard,
                                                   const void* pointer) READMOST_NOTHROW;
READMOST_API READMOST_CHECKED int readmost_hazard_pointer_try_protect(
    readmost_hazard_pointer_t* hazard, void* expected, const void* pointer) READMOST_NOTHROW;

/* Protects the object with the head, provided that it is not retired before this call, which the
 * caller must know: for instance because the object can be reached afterwards, or because no other
 * thread can retire it. */
READMOST_API void readmost_hazard_pointer_set(
    readmost_hazard_pointer_t* hazard, const struct readmost_hazard_head* head) READMOST_NOTHROW;

/* Protects nothing. */
READMOST_API void readmost_hazard_pointer_reset(readmost_hazard_pointer_t* hazard) READMOST_NOTHROW;

/* --- Retiring --------------------------------------------------------------------------------- */

/* Puts `value` into a variable of pointer type and returns what was there, to be retired; see also
 * readmost_rcu_assign_pointer(). The compiler rejects a value of another type. */
#define readmost_hazard_exchange(pointer, value) \
  __atomic_exchange_n(&(pointer), 1 ? (value) : (pointer), __ATOMIC_ACQ_REL)

/* Calls `function(head)` once no hazard pointer that protected the object before this call still
 * does. `bytes`, the memory that it gives back, counts towards the limit of the backlog. Allocates
 * nothing. By default functions are called in the threads that retire, inside this call: of those
 * retired objects, the caller's or other threads', that are not protected; so the caller should
 * hold no lock that they take. They may free the memory of the head, call any function of this
 * header, lock and wait. Functions that are not called before the process ends never are.
 * Precondition: the object is not retired yet, and no thread can reach it anew. EINVAL: null
 * function. Cost: some 40 ns with its share of the scans. */
READMOST_API int readmost_hazard_retire(struct readmost_hazard_head* head,
                                        readmost_hazard_function_t* function,
                                        size_t bytes) READMOST_NOTHROW;

/* Calls, in the calling thread, the functions of the objects that any thread has retired before and
 * no hazard pointer protects, except those that other threads are about to call; also of what these
 * retire. Has no effect inside such a function. Waits for no reader: executes one membarrier(2) at
 * most, and another for each time that functions have retired something. */
READMOST_API void readmost_hazard_clean_up(void) READMOST_NOTHROW;

/* Sets when a thread that retires calls functions: as soon as so many objects or bytes wait over
 * all threads, or when it was last done so long ago (at first 128, 1 MiB, 1,000,000 us); more
 * objects if there are more than half as many hazard pointers. */
READMOST_API void readmost_hazard_limit_backlog(uint64_t objects, uint64_t bytes,
                                                uint64_t microseconds) READMOST_NOTHROW;

/* Sets who calls functions from now on: READMOST_RCU_IN_PLACE, the default, threads that retire;
 * READMOST_RCU_IN_BACKGROUND, a thread of the library's own, within a second, so that functions may
 * take locks which retiring threads hold; READMOST_RCU_ON_REQUEST, readmost_hazard_clean_up()
 * alone, so that nothing is bounded. EINVAL: `who` is none of these. */
READMOST_API int readmost_hazard_reclaim_by(int who) READMOST_NOTHROW;

#ifdef __cplusplus
}
#endif
