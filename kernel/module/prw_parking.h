/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* Readers that sleep until a writer has left, and are woken by the CPU they sleep on. */
#ifndef READMOST_PRW_PARKING_H
#define READMOST_PRW_PARKING_H

#include "internal.h"
#include "prwlock.h"

#ifdef CONFIG_MMAP_PRWLOCK
/* Where prwlock is built in, readers that wait sleep in the semaphore, and an mm stays as small as it was. */
static inline void prw_writer_enters(struct prwlock *lock) { }

static inline bool prw_writer_leaves(struct prwlock *lock)
{
	atomic_dec(&lock->writers);
	return false;
}

static inline bool prw_is_to_park(struct prwlock *lock) { return false; }
static inline int prw_park(struct prwlock *lock, int state) { return 0; }
static inline void prw_wake_parked(void) { }
static inline bool prw_is_parked_for(struct prwlock *lock) { return false; }
static inline void prw_parking_start(void) { }
static inline void prw_parking_stop(void) { }
#else
/* A writer that has the semaphore is inside. */
static inline void prw_writer_enters(struct prwlock *lock)
{
	WRITE_ONCE(lock->turns, lock->turns + 1);
}

/**
 * prw_writer_leaves() - the writer inside lets readers go on
 * @lock: its lock, whose semaphore it still holds
 *
 * Return: whether prw_wake_parked() is to be called once the semaphore is released.
 */
static inline bool prw_writer_leaves(struct prwlock *lock)
{
	WRITE_ONCE(lock->turns, lock->turns + 1);
	atomic_dec(&lock->writers);
	smp_mb__after_atomic();	/* pairs with that of prw_park() */
	return atomic_read(&lock->parked);
}

/* Whether a reader is to call prw_park() before it acquires the semaphore. */
static inline bool prw_is_to_park(struct prwlock *lock)
{
	return (READ_ONCE(lock->turns) & 1) && READ_ONCE(wake_in_parallel_parameter.value) &&
	       READ_ONCE(readmost_watches_switches);
}

/* Whether readers sleep until a writer leaves. */
static inline bool prw_is_parked_for(struct prwlock *lock)
{
	return atomic_read(&lock->parked);
}

int prw_park(struct prwlock *lock, int state);
void prw_wake_parked(void);

void prw_parking_start(void);
void prw_parking_stop(void);
#endif

#endif /* READMOST_PRW_PARKING_H */
