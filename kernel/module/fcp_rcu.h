/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/**
 * DOC: FCP-RCU, grace periods by consensus on a version
 *
 * A read section puts a node on the caller's stack into a list of its CPU: no
 * atomic instruction, no fence, no shared line. A section may sleep; its task's
 * nodes are then counted, and the list is empty again. A grace period raises the
 * version, and ends when each CPU that ran sections has reported it while its
 * list was empty, and when the sections counted before have ended. CPUs report
 * at the end of a section and at a context switch; stragglers are interrupted.
 *
 * Unlike RCU, a grace period neither waits for a context switch of each CPU nor
 * does it need one; unlike SRCU, a section has no fence. Unlike both, sections
 * of interrupt handlers are not supported.
 */
#ifndef READMOST_FCP_RCU_H
#define READMOST_FCP_RCU_H

#include <linux/rcupdate.h>
#include <linux/types.h>

/**
 * struct fcp_rcu_reader - a read section, on the stack of its task
 * @outer: the section around it on the same CPU
 * @counted: which count it was added to at a context switch, or -1
 */
struct fcp_rcu_reader {
	struct fcp_rcu_reader *outer;
	int counted;
};

#ifdef CONFIG_DEBUG_LOCK_ALLOC
extern struct lockdep_map fcp_rcu_lock_map;
#define fcp_rcu_read_lock_held()	lock_is_held(&fcp_rcu_lock_map)
#else
#define fcp_rcu_read_lock_held()	true
#endif

/**
 * fcp_rcu_dereference() - load a pointer inside a read section
 * @p: the pointer, published by rcu_assign_pointer()
 */
#define fcp_rcu_dereference(p)	rcu_dereference_check(p, fcp_rcu_read_lock_held())

void fcp_rcu_read_lock(struct fcp_rcu_reader *reader);
void fcp_rcu_read_unlock(struct fcp_rcu_reader *reader);

void fcp_rcu_synchronize(void);
void fcp_rcu_synchronize_expedited(void);

void fcp_rcu_call(struct rcu_head *head, rcu_callback_t func);
void fcp_rcu_barrier(void);

u64 fcp_rcu_get_state(void);
u64 fcp_rcu_start_poll(void);
bool fcp_rcu_poll_state(u64 cookie);
void fcp_rcu_cond_synchronize(u64 cookie);

u64 fcp_rcu_completed(void);

#endif /* READMOST_FCP_RCU_H */
