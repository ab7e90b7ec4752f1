/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* The locks that the torture and benchmark modules compare, behind one table. */
#ifndef READMOST_LOCK_OPS_H
#define READMOST_LOCK_OPS_H

#include <linux/list.h>
#include <linux/types.h>

/* What a reader of an rmlock keeps on its stack; the other locks need nothing. */
struct lock_hold {
	struct list_head entry;
	void *lock;
	bool awaited;
};

/**
 * struct lock_ops - a reader-writer lock under test
 * @name: for parameters and tables
 * @create: a new lock, or NULL; a lock of a higher level may be acquired inside one of a lower level
 * @destroy: frees it
 * @readlock: acquires it for reading
 * @readunlock: releases it
 * @writelock: acquires it for writing
 * @writeunlock: releases it
 * @try_readlock: or NULL
 * @readlock_killable: or NULL
 * @try_writelock: or NULL
 * @writelock_killable: or NULL
 * @upgrade: from read to write, may fail; or NULL
 * @downgrade: from write to read; or NULL
 * @readers_may_sleep: inside a read lock
 */
struct lock_ops {
	const char *name;
	void *(*create)(unsigned int level);
	void (*destroy)(void *lock);
	void (*readlock)(void *lock, struct lock_hold *hold);
	void (*readunlock)(void *lock, struct lock_hold *hold);
	void (*writelock)(void *lock);
	void (*writeunlock)(void *lock);
	bool (*try_readlock)(void *lock, struct lock_hold *hold);
	int (*readlock_killable)(void *lock, struct lock_hold *hold);
	bool (*try_writelock)(void *lock);
	int (*writelock_killable)(void *lock);
	bool (*upgrade)(void *lock);
	void (*downgrade)(void *lock);
	bool readers_may_sleep;
};

const struct lock_ops *find_lock(const char *name);

#endif /* READMOST_LOCK_OPS_H */
