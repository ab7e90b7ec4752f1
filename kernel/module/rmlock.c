// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "rmlock.h"

struct rmlock {
	struct mutex mutex;
	atomic_t awaited;
	wait_queue_head_t drain;
	bool __percpu *token;
};

/* Trackers of the readers that started on a CPU; they stay on it. */
static DEFINE_PER_CPU(struct list_head, trackers);

static struct list_head *own_trackers(void)
{
	struct list_head *list = this_cpu_ptr(&trackers);

	if (unlikely(!list->next))
		INIT_LIST_HEAD(list);
	return list;
}

struct rmlock *rmlock_create(void)
{
	struct rmlock *lock = kzalloc(sizeof(*lock), GFP_KERNEL);

	if (!lock)
		return NULL;
	lock->token = alloc_percpu_gfp(bool, GFP_KERNEL | __GFP_ZERO);
	if (!lock->token) {
		kfree(lock);
		return NULL;
	}
	mutex_init(&lock->mutex);
	init_waitqueue_head(&lock->drain);
	return lock;
}

void rmlock_destroy(struct rmlock *lock)
{
	free_percpu(lock->token);
	kfree(lock);
}

/* The list is changed by its CPU only; an interrupt that reads it must find it whole. */
static void track(struct rmlock *lock, struct lock_hold *hold)
{
	unsigned long flags;

	local_irq_save(flags);
	hold->lock = lock;
	hold->awaited = false;
	list_add(&hold->entry, own_trackers());
	local_irq_restore(flags);
}

static bool untrack(struct lock_hold *hold)
{
	unsigned long flags;
	bool awaited;

	local_irq_save(flags);
	list_del(&hold->entry);
	awaited = hold->awaited;
	local_irq_restore(flags);
	return awaited;
}

void rmlock_read_lock(struct rmlock *lock, struct lock_hold *hold)
{
	migrate_disable();
	track(lock, hold);
	if (likely(__this_cpu_read(*lock->token)))
		return;
	if (untrack(hold) && atomic_dec_and_test(&lock->awaited))
		wake_up_all(&lock->drain);
	mutex_lock(&lock->mutex);
	track(lock, hold);
	__this_cpu_write(*lock->token, true);
	mutex_unlock(&lock->mutex);
}

void rmlock_read_unlock(struct rmlock *lock, struct lock_hold *hold)
{
	if (untrack(hold) && atomic_dec_and_test(&lock->awaited))
		wake_up_all(&lock->drain);
	migrate_enable();
}

static bool has_token(int cpu, void *info)
{
	struct rmlock *lock = info;

	return *per_cpu_ptr(lock->token, cpu);
}

static void give_token_back(void *info)
{
	struct rmlock *lock = info;
	struct lock_hold *hold;

	__this_cpu_write(*lock->token, false);
	list_for_each_entry(hold, own_trackers(), entry) {
		if (hold->lock == lock && !hold->awaited) {
			hold->awaited = true;
			atomic_inc(&lock->awaited);
		}
	}
}

void rmlock_write_lock(struct rmlock *lock)
{
	mutex_lock(&lock->mutex);
	on_each_cpu_cond_mask(has_token, give_token_back, lock, true, cpu_online_mask);
	wait_event(lock->drain, !atomic_read(&lock->awaited));
}

void rmlock_write_unlock(struct rmlock *lock)
{
	mutex_unlock(&lock->mutex);
}
