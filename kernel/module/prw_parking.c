// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * A semaphore's writer wakes the readers that wait for it one after another.
 * Here they sleep in a queue of their CPU instead, and the writer interrupts
 * those CPUs; each wakes its own sleepers, at the same time as the others.
 *
 * lock->turns is odd while a writer is inside. A reader notes it, queues itself,
 * and sleeps unless the number has changed (A). The writer changes it, then looks
 * whether readers have queued (B). Either the reader sees the change, or the
 * writer sees the reader. The writer does so while it holds the lock, but wakes
 * after it, without a look at the lock, whose memory may be gone then: each CPU
 * looks at the locks that its sleepers wait for.
 *
 * A reader sleeps here once, then acquires the semaphore. So a writer that comes
 * at once may overtake it, a second one may not.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "internal.h"
#include "prw_parking.h"

struct parked_reader {
	struct list_head entry;
	struct task_struct *task;
	struct prwlock *lock;
	unsigned int turn;
};

/* The readers that went to sleep on a CPU. */
struct parking {
	raw_spinlock_t lock;
	struct list_head readers;
	atomic_t asked;
	call_single_data_t call;
};

static DEFINE_PER_CPU_ALIGNED(struct parking, parkings) = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(parkings.lock),
};

static void wake_those_of(struct parking *parking)
{
	struct parked_reader *reader, *next;
	unsigned long flags;

	if (is_fault(FAULT_NO_WAKE_UP))
		return;
	raw_spin_lock_irqsave(&parking->lock, flags);
	list_for_each_entry_safe(reader, next, &parking->readers, entry) {
		if (READ_ONCE(reader->lock->turns) == reader->turn)
			continue;
		list_del_init(&reader->entry);
		wake_up_process(reader->task);
		count_event(woken);
	}
	raw_spin_unlock_irqrestore(&parking->lock, flags);
}

static void wake_own(void *info)
{
	struct parking *parking = info;

	/* Who finds it cleared asks again; who does not has changed its lock before. */
	atomic_xchg(&parking->asked, 0);
	wake_those_of(parking);
}

/**
 * prw_park() - sleep until the writer inside has left
 * @lock: the lock
 * @state: in which to sleep
 *
 * Return: 0, also if no writer is inside; -EINTR if a signal of @state came first.
 */
int prw_park(struct prwlock *lock, int state)
{
	struct parked_reader self = { .task = current, .lock = lock, .turn = READ_ONCE(lock->turns) };
	struct parking *parking;
	unsigned long flags;
	int ret = 0;

	if (!(self.turn & 1))
		return 0;
	count_event(parked);
	atomic_inc(&lock->parked);
	parking = raw_cpu_ptr(&parkings);
	raw_spin_lock_irqsave(&parking->lock, flags);
	list_add_tail(&self.entry, &parking->readers);
	raw_spin_unlock_irqrestore(&parking->lock, flags);
	for (;;) {
		set_current_state(state);	/* the barrier of A, for B */
		if (READ_ONCE(lock->turns) != self.turn)
			break;
		if (signal_pending_state(state, current)) {
			ret = -EINTR;
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irqsave(&parking->lock, flags);
	list_del_init(&self.entry);
	raw_spin_unlock_irqrestore(&parking->lock, flags);
	atomic_dec(&lock->parked);
	return ret;
}

/**
 * prw_wake_parked() - let each CPU wake its sleepers whose writer has left
 *
 * Touches no lock of which the caller knows.
 */
void prw_wake_parked(void)
{
	struct parking *parking;
	int cpu, self;

	self = get_cpu();
	for_each_possible_cpu(cpu) {
		parking = per_cpu_ptr(&parkings, cpu);
		/* Whoever queues itself from now on sees that the writer has left. */
		if (cpu == self || list_empty_careful(&parking->readers))
			continue;
		if (atomic_xchg(&parking->asked, 1))
			continue;
		if (smp_call_function_single_async(cpu, &parking->call)) {
			/* The CPU is offline. */
			atomic_xchg(&parking->asked, 0);
			wake_those_of(parking);
			continue;
		}
		count_event(wake_ups_asked);
	}
	wake_those_of(per_cpu_ptr(&parkings, self));
	put_cpu();
}

void prw_parking_start(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct parking *parking = per_cpu_ptr(&parkings, cpu);

		INIT_LIST_HEAD(&parking->readers);
		INIT_CSD(&parking->call, wake_own, parking);
	}
}

void prw_parking_stop(void)
{
	int cpu;

	/* Nobody asks any more. A CPU that was asked begins wake_own() soon, with interrupts disabled. */
	for_each_possible_cpu(cpu) {
		while (atomic_read(&per_cpu_ptr(&parkings, cpu)->asked))
			msleep(1);
	}
	synchronize_rcu();
}
