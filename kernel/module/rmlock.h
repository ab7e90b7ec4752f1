/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/*
 * A lock in the manner of FreeBSD's rmlock, to compare with. A reader puts a
 * tracker into a list of its CPU and looks whether the CPU still has the lock's
 * token. The first writer since takes all tokens by one interrupt per CPU that
 * has it, and waits for the trackers found there. A reader without a token takes
 * the writers' mutex to get it back.
 */
#ifndef READMOST_RMLOCK_H
#define READMOST_RMLOCK_H

#include "lock_ops.h"

struct rmlock;

struct rmlock *rmlock_create(void);
void rmlock_destroy(struct rmlock *lock);
void rmlock_read_lock(struct rmlock *lock, struct lock_hold *hold);
void rmlock_read_unlock(struct rmlock *lock, struct lock_hold *hold);
void rmlock_write_lock(struct rmlock *lock);
void rmlock_write_unlock(struct rmlock *lock);

#endif /* READMOST_RMLOCK_H */
