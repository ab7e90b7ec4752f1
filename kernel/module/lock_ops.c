// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/* prwlock, rw_semaphore, percpu_rw_semaphore and rmlock behind one table. */
#include <linux/export.h>
#include <linux/lockdep.h>
#include <linux/percpu-rwsem.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lock_ops.h"
#include "prwlock.h"
#include "rmlock.h"

/* --- prwlock ----------------------------------------------------------- */

static void *prw_create_in(struct prw_domain *domain, unsigned int level)
{
	struct prwlock *lock = kzalloc(sizeof(*lock), GFP_KERNEL);

	if (lock) {
		prwlock_init_domain(lock, domain);
		lockdep_set_subclass(&lock->sem, level);
	}
	return lock;
}

static void *prw_create(unsigned int level)
{
	return prw_create_in(&prw_default_domain, level);
}

static void prw_destroy(void *lock)
{
	prwlock_destroy(lock);
	kfree(lock);
}

static void prw_down_read(void *lock, struct lock_hold *hold)
{
	prw_read_lock(lock);
}

static void prw_up_read(void *lock, struct lock_hold *hold)
{
	prw_read_unlock(lock);
}

static void prw_down_write(void *lock)
{
	prw_write_lock(lock);
}

static void prw_up_write(void *lock)
{
	prw_write_unlock(lock);
}

static bool prw_down_read_trylock(void *lock, struct lock_hold *hold)
{
	return prw_read_trylock(lock);
}

static int prw_down_read_killable(void *lock, struct lock_hold *hold)
{
	return prw_read_lock_killable(lock);
}

static bool prw_down_write_trylock(void *lock)
{
	return prw_write_trylock(lock);
}

static int prw_down_write_killable(void *lock)
{
	return prw_write_lock_killable(lock);
}

static bool prw_upgrade(void *lock)
{
	return prw_try_upgrade(lock);
}

static void prw_downgrade_write(void *lock)
{
	prw_downgrade(lock);
}

/* What is the same in any domain. */
#define PRWLOCK_OPERATIONS						\
	.readlock = prw_down_read,					\
	.readunlock = prw_up_read,					\
	.writelock = prw_down_write,					\
	.writeunlock = prw_up_write,					\
	.try_readlock = prw_down_read_trylock,				\
	.readlock_killable = prw_down_read_killable,			\
	.try_writelock = prw_down_write_trylock,			\
	.writelock_killable = prw_down_write_killable,			\
	.upgrade = prw_upgrade,						\
	.downgrade = prw_downgrade_write,				\
	.readers_may_sleep = true

static const struct lock_ops prwlock_ops = {
	.name = "prwlock",
	.create = prw_create,
	.destroy = prw_destroy,
	PRWLOCK_OPERATIONS,
};

/* --- prwlock in a domain of its own ------------------------------------- */

static void *prw_create_in_domain(unsigned int level)
{
	struct prw_domain *domain = prw_domain_create("torture");
	void *lock = domain ? prw_create_in(domain, level) : NULL;

	if (domain && !lock)
		prw_domain_destroy(domain);
	return lock;
}

static void prw_destroy_with_domain(void *lock)
{
	struct prw_domain *domain = ((struct prwlock *)lock)->domain;

	prw_destroy(lock);
	prw_domain_destroy(domain);
}

static const struct lock_ops prwlock_domain_ops = {
	.name = "prwlock_domain",
	.create = prw_create_in_domain,
	.destroy = prw_destroy_with_domain,
	PRWLOCK_OPERATIONS,
};

/* --- rw_semaphore ------------------------------------------------------ */

static void *rwsem_create(unsigned int level)
{
	struct rw_semaphore *sem = kzalloc(sizeof(*sem), GFP_KERNEL);

	if (sem) {
		init_rwsem(sem);
		lockdep_set_subclass(sem, level);
	}
	return sem;
}

static void rwsem_destroy(void *sem)
{
	kfree(sem);
}

static void rwsem_read_lock(void *sem, struct lock_hold *hold)
{
	down_read(sem);
}

static void rwsem_read_unlock(void *sem, struct lock_hold *hold)
{
	up_read(sem);
}

static void rwsem_write_lock(void *sem)
{
	down_write(sem);
}

static void rwsem_write_unlock(void *sem)
{
	up_write(sem);
}

static bool rwsem_read_trylock(void *sem, struct lock_hold *hold)
{
	return down_read_trylock(sem);
}

static int rwsem_read_lock_killable(void *sem, struct lock_hold *hold)
{
	return down_read_killable(sem);
}

static bool rwsem_write_trylock(void *sem)
{
	return down_write_trylock(sem);
}

static int rwsem_write_lock_killable(void *sem)
{
	return down_write_killable(sem);
}

static void rwsem_downgrade(void *sem)
{
	downgrade_write(sem);
}

static const struct lock_ops rwsem_ops = {
	.name = "rwsem",
	.create = rwsem_create,
	.destroy = rwsem_destroy,
	.readlock = rwsem_read_lock,
	.readunlock = rwsem_read_unlock,
	.writelock = rwsem_write_lock,
	.writeunlock = rwsem_write_unlock,
	.try_readlock = rwsem_read_trylock,
	.readlock_killable = rwsem_read_lock_killable,
	.try_writelock = rwsem_write_trylock,
	.writelock_killable = rwsem_write_lock_killable,
	.downgrade = rwsem_downgrade,
	.readers_may_sleep = true,
};

/* --- percpu_rw_semaphore ----------------------------------------------- */

static void *percpu_create(unsigned int level)
{
	struct percpu_rw_semaphore *sem = kzalloc(sizeof(*sem), GFP_KERNEL);

	if (!sem)
		return NULL;
	if (percpu_init_rwsem(sem)) {
		kfree(sem);
		return NULL;
	}
	lockdep_set_subclass(sem, level);
	return sem;
}

static void percpu_destroy(void *sem)
{
	percpu_free_rwsem(sem);
	kfree(sem);
}

static void percpu_read_lock(void *sem, struct lock_hold *hold)
{
	percpu_down_read(sem);
}

static void percpu_read_unlock(void *sem, struct lock_hold *hold)
{
	percpu_up_read(sem);
}

static void percpu_write_lock(void *sem)
{
	percpu_down_write(sem);
}

static void percpu_write_unlock(void *sem)
{
	percpu_up_write(sem);
}

static bool percpu_read_trylock(void *sem, struct lock_hold *hold)
{
	return percpu_down_read_trylock(sem);
}

static const struct lock_ops percpu_rwsem_ops = {
	.name = "percpu_rwsem",
	.create = percpu_create,
	.destroy = percpu_destroy,
	.readlock = percpu_read_lock,
	.readunlock = percpu_read_unlock,
	.writelock = percpu_write_lock,
	.writeunlock = percpu_write_unlock,
	.try_readlock = percpu_read_trylock,
	.readers_may_sleep = true,
};

/* --- rmlock ------------------------------------------------------------ */

static void *rm_create(unsigned int level)
{
	return rmlock_create();
}

static void rm_destroy(void *lock)
{
	rmlock_destroy(lock);
}

static void rm_read_lock(void *lock, struct lock_hold *hold)
{
	rmlock_read_lock(lock, hold);
}

static void rm_read_unlock(void *lock, struct lock_hold *hold)
{
	rmlock_read_unlock(lock, hold);
}

static void rm_write_lock(void *lock)
{
	rmlock_write_lock(lock);
}

static void rm_write_unlock(void *lock)
{
	rmlock_write_unlock(lock);
}

static const struct lock_ops rmlock_ops = {
	.name = "rmlock",
	.create = rm_create,
	.destroy = rm_destroy,
	.readlock = rm_read_lock,
	.readunlock = rm_read_unlock,
	.writelock = rm_write_lock,
	.writeunlock = rm_write_unlock,
	.readers_may_sleep = true,
};

static const struct lock_ops * const all_locks[] = {
	&prwlock_ops, &prwlock_domain_ops, &rwsem_ops, &percpu_rwsem_ops, &rmlock_ops, NULL
};

const struct lock_ops *find_lock(const char *name)
{
	const struct lock_ops * const *ops;

	for (ops = all_locks; *ops; ops++) {
		if (!strcmp((*ops)->name, name))
			return *ops;
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(find_lock);
