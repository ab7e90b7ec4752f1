/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/**
 * DOC: prwlock, a sleeping reader-writer lock with passive readers
 *
 * A prwlock is used like a rw_semaphore. While it is *biased*, a reader
 * publishes its hold in a slot of its CPU by a plain store: it executes no
 * atomic instruction and no fence, and writes to no line that another CPU
 * writes. That is a *passive* hold. A passive hold is turned into an *active*
 * one, a count in the lock, when its task is switched out.
 *
 * A writer takes the bias away and raises the version of the lock's *domain*.
 * Each CPU of the domain *reports*: it stores that it has seen the version,
 * at its next read unlock or context switch. Stragglers are interrupted. After
 * this consensus every passive hold of the lock is visible in a slot, and the
 * writer waits until they have left.
 *
 * A new lock is not biased: its readers are active, and cost what those of a
 * rw_semaphore cost, until they have earned the bias. So a lock that is not
 * read-locked has no cost per CPU, in time or in memory.
 *
 * Rules, beyond those of rw_semaphore:
 *
 * - Read locks belong to process context. A read lock is released by the task
 *   that acquired it.
 * - A task does not read-lock a lock twice: as with rw_semaphore, a writer that
 *   comes in between would wait for it forever, and it for the writer.
 * - Write lock operations are called with interrupts enabled.
 */
#ifndef READMOST_PRWLOCK_H
#define READMOST_PRWLOCK_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/wait.h>

/* A CPU's part of the consensus in one domain; written by that CPU only. */
struct prw_status {
	u64 seen;	/* newest version reported */
	u64 quiet;	/* newest version reported while no slot was in use */
	bool online;	/* passive readers may come; false: rounds skip this CPU */
};

/**
 * struct prw_domain - locks whose writers reach consensus together
 * @version: raised by each writer that revokes a bias
 * @status: per CPU, what it has reported
 * @drain: writers that wait for passive or converted holds
 * @locks: how many locks use the domain
 * @name: for debugfs
 * @entry: in the list of all domains
 */
struct prw_domain {
	atomic64_t version ____cacheline_aligned_in_smp;
	struct prw_status __percpu *status;
	wait_queue_head_t drain ____cacheline_aligned_in_smp;
	atomic_t locks;
	const char *name;
	struct list_head entry;
};

extern struct prw_domain prw_default_domain;

struct prw_domain *prw_domain_create(const char *name);
int prw_domain_destroy(struct prw_domain *domain);

/**
 * struct prwlock - the lock
 * @sem: orders writers, and the readers that are not passive
 * @bias: readers may be passive
 * @revoked: the bias was taken away by writers that may give it back
 * @draining: passive holds may be in slots although the bias is gone
 * @reads: active reads since the last write
 * @domain: where it reaches consensus
 * @converted: holds that were passive when their task was switched out
 * @writers: writers that hold the lock or want it
 * @biased_at: when the bias was set, in ns
 * @version: of the last consensus
 * @turns: odd while a writer is inside; only in the module (prw_parking.c)
 * @parked: readers that sleep until it has left; likewise
 *
 * Lockdep knows the lock by the map of @sem, whichever way it is held.
 */
struct prwlock {
	struct rw_semaphore sem;
	bool bias;
	bool revoked;
	bool draining;
	unsigned int reads;
	struct prw_domain *domain;
	atomic_t converted;
	atomic_t writers;
	u64 biased_at;
	u64 version;
#ifndef CONFIG_MMAP_PRWLOCK
	unsigned int turns;
	atomic_t parked;
#endif
};

/* Active holds carry no name, so BRAVO may not put them into a slot of a task. */
#ifdef CONFIG_RWSEM_BRAVO
#define __PRWLOCK_NEVER_BIASED		.sem.bravo.never = true,
#else
#define __PRWLOCK_NEVER_BIASED
#endif

#define __PRWLOCK_INITIALIZER(lockname)					\
	{								\
		.sem = __RWSEM_INITIALIZER((lockname).sem),		\
		__PRWLOCK_NEVER_BIASED					\
		.domain = &prw_default_domain,				\
		.converted = ATOMIC_INIT(0),				\
		.writers = ATOMIC_INIT(0),				\
	}

/**
 * DEFINE_PRWLOCK() - define and initialise a lock of the default domain
 * @lockname: name of the variable
 */
#define DEFINE_PRWLOCK(lockname)					\
	struct prwlock lockname = __PRWLOCK_INITIALIZER(lockname)

void __prwlock_init(struct prwlock *lock, struct prw_domain *domain,
		    const char *name, struct lock_class_key *key);

/**
 * prwlock_init() - initialise a lock of the default domain
 * @lock: the lock; it needs no memory besides itself
 */
#define prwlock_init(lock)	prwlock_init_domain(lock, &prw_default_domain)

/**
 * prwlock_init_domain() - initialise a lock of a domain
 * @lock: the lock
 * @domain: from prw_domain_create(); outlives the lock
 */
#define prwlock_init_domain(lock, domain)				\
do {									\
	static struct lock_class_key __key;				\
									\
	__prwlock_init(lock, domain, #lock, &__key);			\
} while (0)

void prwlock_destroy(struct prwlock *lock);

#ifdef CONFIG_DEBUG_LOCK_ALLOC
void prw_read_lock_nested(struct prwlock *lock, int subclass);
void prw_write_lock_nested(struct prwlock *lock, int subclass);
int __must_check prw_write_lock_killable_nested(struct prwlock *lock, int subclass);
#else
#define prw_read_lock_nested(lock, subclass)		prw_read_lock(lock)
#define prw_write_lock_nested(lock, subclass)		prw_write_lock(lock)
#define prw_write_lock_killable_nested(lock, subclass)	prw_write_lock_killable(lock)
#endif

void prw_read_lock(struct prwlock *lock);
int __must_check prw_read_lock_interruptible(struct prwlock *lock);
int __must_check prw_read_lock_killable(struct prwlock *lock);
bool __must_check prw_read_trylock(struct prwlock *lock);
void prw_read_unlock(struct prwlock *lock);

void prw_write_lock(struct prwlock *lock);
int __must_check prw_write_lock_killable(struct prwlock *lock);
bool __must_check prw_write_trylock(struct prwlock *lock);
void prw_write_unlock(struct prwlock *lock);

bool __must_check prw_try_upgrade(struct prwlock *lock);
void prw_downgrade(struct prwlock *lock);

bool prw_is_locked(struct prwlock *lock);
bool prw_is_contended(struct prwlock *lock);
u64 prw_imbalances(void);

/**
 * prw_assert_held() - complain under lockdep unless the caller holds the lock
 * @lock: the lock
 */
#define prw_assert_held(lock)		lockdep_assert_held(&(lock)->sem)
#define prw_assert_held_write(lock)	lockdep_assert_held_write(&(lock)->sem)

#endif /* READMOST_PRWLOCK_H */
