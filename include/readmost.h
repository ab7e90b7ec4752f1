// SPDX-License-Identifier: Apache-2.0
/* Readmost for C: reader-writer locks whose readers do not disturb one another.
 *
 * The functions mirror pthread_rwlock_*, with two unlocks instead of one because the caller knows
 * what it holds. C99 and later, C++11 and later. Link with libreadmost and -pthread; libstdc++ is
 * not needed.
 *
 * While reads are frequent and writes are rare the lock is biased: a read lock is a call, two
 * stores to cache lines of the calling thread and a few loads, with no atomic read-modify-write and
 * no fence; together with its unlock about 3 ns. A write lock then pays a consensus with the other
 * threads: some cache misses while readers are hot, a membarrier(2) of about 2 us otherwise. A lock
 * that is written too often for that to pay is an ordinary reader-writer lock: one compare-and-swap
 * each way. The lock moves between the two by itself. Where membarrier(2) is missing, a read lock
 * of a biased lock executes a fence, and its writers need no consensus.
 *
 * What holds for every function on locks:
 * Returns: 0, or an error number of <errno.h>; errno itself is left alone. A function that fails
 * has changed nothing. Pointers must not be null but where a function says so.
 * Progress: passive read locks and unlocks are wait-free, active unlocks lock-free. What waits
 * spins briefly, then sleeps (futex); a signal does not end a wait, and no function is a
 * cancellation point.
 * Recursion: a thread may read-lock again what it holds for reading, also while a writer waits. A
 * thread that asks to write what it holds, or to read what it writes, waits for ever: there is no
 * owner to find it by.
 * Threads: all functions. A hold may be released by another thread than took it; a read hold
 * released so while the lock is biased ends the bias for good.
 * Signals: readmost_rwlock_tryrdlock() and its unlock may be used in a handler; what waits as far
 * as the program itself rules out deadlock.
 * Processes: after fork(2) the child's copy holds what the parent's threads held. Not for memory
 * that several processes share. One lock is to be used through one copy of the library, and may be
 * used by nothing but these functions.
 * Sources: FCP 4 (prwlock), BRAVO 3 (bias).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h> /* clockid_t */
#include <time.h>

#define READMOST_API __attribute__((visibility("default")))
/* To ignore the result of these is always a mistake. */
#define READMOST_CHECKED __attribute__((warn_unused_result))
#ifdef __cplusplus
#define READMOST_NOTHROW noexcept
#else
#define READMOST_NOTHROW __attribute__((nothrow))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* strict C99 has none of its own */

/* --- Types ------------------------------------------------------------------------------------ */

/* A lock: 16 bytes. Free when all bytes are zero, as memory of calloc() or of a static variable is,
 * and by the initialisers below; readmost_rwlock_init() is for what they cannot say. Once used it
 * must not be copied or moved. The members are not for programs. */
typedef struct readmost_rwlock {
  uint64_t readmost_state;
  uint8_t readmost_rest[8];
} readmost_rwlock_t;

/* A free lock in the process's domain that prefers writers, or readers, or neither. */
#define READMOST_RWLOCK_INITIALIZER {0, {0, 0, 0, 0, 0, 0, 0, 0}}
#define READMOST_RWLOCK_INITIALIZER_READER {0, {0, 0, 0, 0, 0, 8, 0, 0}}
#define READMOST_RWLOCK_INITIALIZER_PHASE_FAIR {0, {0, 0, 0, 0, 0, 16, 0, 0}}

/* Decides whether waiting readers or a waiting writer enter first. */
enum {
  /* A waiting writer keeps new readers out. A reader waits for one more writer at most once it has
   * waited for a millisecond (FCP 4.1). */
  READMOST_PREFER_WRITER = 0,
  /* Readers enter until a writer is inside, as with glibc's default; writers may starve. */
  READMOST_PREFER_READER = 1,
  /* In turns: a writer, then all readers that waited, then the next writer. */
  READMOST_PREFER_PHASE_FAIR = 2
};

/* A domain: see readmost_domain_create(). */
typedef struct readmost_domain readmost_domain_t;

/* The attributes of a new lock. Programs must not access the members. */
typedef struct readmost_rwlockattr {
  readmost_domain_t* readmost_domain;
  int readmost_preference;
  int readmost_reserved;
} readmost_rwlockattr_t;

/* --- Attributes ------------------------------------------------------------------------------- */

/* For one thread at a time; no function here waits. Safe in signal handlers. */

/* Makes attributes of a lock that prefers writers and is in the process's domain. Always 0. */
READMOST_API int readmost_rwlockattr_init(readmost_rwlockattr_t* attr) READMOST_NOTHROW;

/* Ends the use of the attributes; locks made with them are not touched. Always 0. */
READMOST_API int readmost_rwlockattr_destroy(readmost_rwlockattr_t* attr) READMOST_NOTHROW;

/* `preference`: one of READMOST_PREFER_*; anything else is EINVAL. */
READMOST_API int readmost_rwlockattr_setpreference(readmost_rwlockattr_t* attr,
                                                   int preference) READMOST_NOTHROW;
READMOST_API int readmost_rwlockattr_getpreference(const readmost_rwlockattr_t* attr,
                                                   int* preference) READMOST_NOTHROW;

/* `domain`: one that was created and not destroyed, or null for the process's. Always 0. */
READMOST_API int readmost_rwlockattr_setdomain(readmost_rwlockattr_t* attr,
                                               readmost_domain_t* domain) READMOST_NOTHROW;
READMOST_API int readmost_rwlockattr_getdomain(const readmost_rwlockattr_t* attr,
                                               readmost_domain_t** domain) READMOST_NOTHROW;

/* --- Making and ending a lock ----------------------------------------------------------------- */

/* Makes a free lock of any 16 bytes aligned to 8. Null attributes: as READMOST_RWLOCK_INITIALIZER.
 * Precondition: nobody uses the memory as a lock. EINVAL: the attributes were destroyed. Cost: a
 * few stores. */
READMOST_API int readmost_rwlock_init(readmost_rwlock_t* lock,
                                      const readmost_rwlockattr_t* attr) READMOST_NOTHROW;

/* Ends the use of a lock; its memory may be put to any use. Precondition: no thread holds it or
 * waits for it. Needed only if a read hold was released by a thread other than the one that took
 * it; a lock in which every thread released its own may simply be freed. Always 0. Cost: a few
 * loads, or for a biased lock a scan of every thread's slots. */
READMOST_API int readmost_rwlock_destroy(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* --- Reading ---------------------------------------------------------------------------------- */

/* All of these: EAGAIN when the lock has 8,388,607 holds that it counts itself, beside those in the
 * threads' own slots. */

/* Waits until the calling thread shares the lock with other readers. */
READMOST_API int readmost_rwlock_rdlock(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* Shares the lock if no writer holds it and none is preferred, otherwise EBUSY. Waits
 * only for a writer whose claim is being decided. Never fails spuriously. */
READMOST_API READMOST_CHECKED int readmost_rwlock_tryrdlock(readmost_rwlock_t* lock)
    READMOST_NOTHROW;

/* Waits until the time `until` at most, then ETIMEDOUT; not before. A lock that is to be had is
 * taken even if that time has passed. EINVAL, before anything else: nanoseconds that are not 0 to
 * 999,999,999, a clock that is neither CLOCK_REALTIME nor CLOCK_MONOTONIC. timedrdlock goes by
 * CLOCK_REALTIME, as pthread does, and follows the changes of that clock while it waits. */
READMOST_API READMOST_CHECKED int readmost_rwlock_timedrdlock(
    readmost_rwlock_t* lock, const struct timespec* until) READMOST_NOTHROW;
READMOST_API READMOST_CHECKED int readmost_rwlock_clockrdlock(
    readmost_rwlock_t* lock, clockid_t clock, const struct timespec* until) READMOST_NOTHROW;

/* Releases one read hold. Another thread may free the lock's memory as soon as the hold is
 * released. EPERM: the lock has no read hold; noticed only while it is not biased and no thread
 * holds it for writing. */
READMOST_API int readmost_rwlock_rdunlock(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* --- Writing ---------------------------------------------------------------------------------- */

/* Waits until the calling thread holds the lock alone. Always 0. */
READMOST_API int readmost_rwlock_wrlock(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* Takes the lock alone if no thread holds it, otherwise EBUSY. Waits only for a writer whose claim
 * is being decided and, if the lock is biased, for one consensus. Never fails spuriously. */
READMOST_API READMOST_CHECKED int readmost_rwlock_trywrlock(readmost_rwlock_t* lock)
    READMOST_NOTHROW;

/* As readmost_rwlock_timedrdlock() and readmost_rwlock_clockrdlock(), but alone. */
READMOST_API READMOST_CHECKED int readmost_rwlock_timedwrlock(
    readmost_rwlock_t* lock, const struct timespec* until) READMOST_NOTHROW;
READMOST_API READMOST_CHECKED int readmost_rwlock_clockwrlock(
    readmost_rwlock_t* lock, clockid_t clock, const struct timespec* until) READMOST_NOTHROW;

/* Releases the write hold. Another thread may free the lock's memory as soon as the hold is
 * released. Never waits. EPERM: no thread holds the lock for writing. */
READMOST_API int readmost_rwlock_wrunlock(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* --- From one to the other (FCP 7.2) ---------------------------------------------------------- */

/* Precondition of the upgrades: the calling thread holds the lock for reading, once, and took it
 * itself. After 0 it holds it for writing instead, and no writer was inside in between; after any
 * error it holds it for reading as before.
 *
 * upgrade waits until all other readers have left, ahead of every writer that waits, and, but under
 * READMOST_PREFER_READER, keeps new readers out meanwhile. EDEADLK, at once: another thread is
 * upgrading, and each would wait for the other's hold, so release this one and start again with
 * readmost_rwlock_wrlock(); or the caller holds the lock more than once, where holds that another
 * thread has released may count. That is known of a thread that has at most 14 holds of all locks;
 * with more it may wait for itself. Cost: about that of a write lock; without other readers one
 * compare-and-swap, or, where the lock is biased, one consensus. */
READMOST_API READMOST_CHECKED int readmost_rwlock_upgrade(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* The same without waiting. EBUSY: other readers are inside, or a case that is EDEADLK above.
 */
READMOST_API READMOST_CHECKED int readmost_rwlock_tryupgrade(readmost_rwlock_t* lock)
    READMOST_NOTHROW;

/* As upgrade until the time `until`, then ETIMEDOUT. EINVAL as readmost_rwlock_clockrdlock(). */
READMOST_API READMOST_CHECKED int readmost_rwlock_clockupgrade(
    readmost_rwlock_t* lock, clockid_t clock, const struct timespec* until) READMOST_NOTHROW;

/* Precondition: the calling thread holds the lock for writing. Afterwards it holds it for reading,
 * and no other writer was inside in between. Never waits. EPERM: nobody writes. */
READMOST_API int readmost_rwlock_downgrade(readmost_rwlock_t* lock) READMOST_NOTHROW;

/* --- State ------------------------------------------------------------------------------------ */

/* What readmost_rwlock_held() returns. */
enum { READMOST_NOT_HELD = 0, READMOST_HELD_FOR_READING = 1, READMOST_HELD_FOR_WRITING = 2 };

/* Whether any thread holds the lock. A snapshot, for assertions and for whoever ends a lock's use:
 * holds that threads take and release meanwhile may be seen or not; one that was taken before the
 * call, as far as the caller can know, and is not released meanwhile is always seen. A thread that
 * waits holds nothing. Never waits. Cost: a load, or for a lock without active holds that is biased
 * or was of late, a scan of every thread's slots. */
READMOST_API READMOST_CHECKED int readmost_rwlock_held(const readmost_rwlock_t* lock)
    READMOST_NOTHROW;

/* --- Hints ------------------------------------------------------------------------------------ */

/* For threads that know their future. Neither is ever needed for correctness, and a thread that
 * stays away from its locks goes offline by itself at the expense of one membarrier. */

/* The calling thread will read-lock soon: saves its next read lock about 50 ns. */
READMOST_API void readmost_online(void) READMOST_NOTHROW;

/* The calling thread will not read-lock for a while, for instance because it is about to block:
 * writers wait for no report of it. What it holds stays held. */
READMOST_API void readmost_offline(void) READMOST_NOTHROW;

/* --- Domains (FCP 7.1) ------------------------------------------------------------------------ */

/* A writer that revokes the bias of a lock asks all threads that read-lock in the lock's domain,
 * whichever locks they read. With a domain for, say, the locks of the control plane, its writers
 * neither wait for the busy readers of the data plane nor make them report. What remains in common
 * is the membarrier of last resort, which interrupts every CPU that runs the process. It costs
 * 1 KiB for each thread in each domain that it read-locks in. Nothing is ordered between
 * domains.
 *
 * Makes a domain, for readmost_rwlockattr_setdomain(). EAGAIN: there are 15 domains, those of the
 * C++ class counted, or there is no memory; null, the process's domain, works as well. Allocates
 * nothing of the heap. Any thread; not in a signal handler. */
READMOST_API READMOST_CHECKED int readmost_domain_create(readmost_domain_t** domain)
    READMOST_NOTHROW;

/* Precondition: no lock of the domain will be used any more. EINVAL: null, the process's domain. */
READMOST_API int readmost_domain_destroy(readmost_domain_t* domain) READMOST_NOTHROW;

/* The hints above for the calling thread in one domain; null is the process's. */
READMOST_API void readmost_domain_online(readmost_domain_t* domain) READMOST_NOTHROW;
READMOST_API void readmost_domain_offline(readmost_domain_t* domain) READMOST_NOTHROW;

/* --- Version ---------------------------------------------------------------------------------- */

/* The library's version, for instance "0.1.0". */
READMOST_API const char* readmost_version(void) READMOST_NOTHROW;

#ifdef __cplusplus
}
#endif
