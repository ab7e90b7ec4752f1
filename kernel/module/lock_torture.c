// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Tortures a reader-writer lock: readers that are quick, sleep, are preempted,
 * nest, try, upgrade, migrate, come and go; writers that try, downgrade and pass
 * the lock on; CPUs that go away and return.
 *
 * The test runs while the module is loaded, and its verdict is one line in the
 * log. If threads hang, the module stays loaded with them.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "lock_ops.h"
#include "prwlock.h"
#include "torture.h"

static char *lock = "prwlock";
module_param(lock, charp, 0444);
MODULE_PARM_DESC(lock, "prwlock, prwlock_domain, rwsem, percpu_rwsem or rmlock (default prwlock)");

static unsigned int readers;
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "reader threads (default: three for two CPUs)");

static unsigned int writers = 2;
module_param(writers, uint, 0444);
MODULE_PARM_DESC(writers, "writer threads (default 2)");

static unsigned long reads;
module_param(reads, ulong, 0444);
MODULE_PARM_DESC(reads, "read locks to reach (default 0: run for the given seconds)");

static unsigned long writes;
module_param(writes, ulong, 0444);
MODULE_PARM_DESC(writes, "write locks to reach (default 0)");

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "time limit (default 10)");

static unsigned int stall_seconds = 20;
module_param(stall_seconds, uint, 0444);
MODULE_PARM_DESC(stall_seconds, "without a read or a write for so long, the lock is stuck (default 20)");

static bool sleepers = true;
module_param(sleepers, bool, 0444);
MODULE_PARM_DESC(sleepers, "readers sleep, yield and migrate while they hold the lock (default yes)");

static bool hotplug;
module_param(hotplug, bool, 0444);
MODULE_PARM_DESC(hotplug, "take CPUs offline and online (default no)");

static bool churn = true;
module_param(churn, bool, 0444);
MODULE_PARM_DESC(churn, "end readers and start others (default yes)");

#define LOCKS	2	/* readers nest them in this order, which is that of their levels */
#define COPIES	4
#define BURST	64

static const struct lock_ops *ops;

static struct guarded {
	void *lock;
	bool writing ____cacheline_aligned_in_smp;
	u64 copy[COPIES];
} guarded[LOCKS];

struct worker {
	struct task_struct *task;
	struct rnd_state random;
	bool inside[LOCKS];
	u64 reads;
	u64 writes;
	u64 sleeps;
	u64 attempts;
	u64 successes;
} ____cacheline_aligned_in_smp;

static struct worker *workers;
static atomic_t violations;
static atomic_t read_while_written;
static atomic_t written_while_read;

static u32 random(struct worker *self, u32 below)
{
	return prandom_u32_state(&self->random) % below;
}

/* --- What must hold while a lock is held ------------------------------- */

static void look(struct worker *self, int which)
{
	struct guarded *data = &guarded[which];
	u64 first = READ_ONCE(data->copy[0]);
	bool wrong = READ_ONCE(data->writing);
	int i;

	for (i = 1; i < COPIES; i++)
		wrong |= READ_ONCE(data->copy[i]) != first;
	if (wrong) {
		atomic_inc(&violations);
		atomic_inc(&read_while_written);
	}
}

static void enter(struct worker *self, int which)
{
	WRITE_ONCE(self->inside[which], true);
	look(self, which);
}

static void leave(struct worker *self, int which)
{
	look(self, which);
	WRITE_ONCE(self->inside[which], false);
}

static void write_inside(struct worker *self, int which)
{
	struct guarded *data = &guarded[which];
	unsigned int i;

	if (READ_ONCE(data->writing))
		atomic_inc(&violations);
	WRITE_ONCE(data->writing, true);
	for (i = 0; i < readers; i++) {
		if (&workers[i] != self && READ_ONCE(workers[i].inside[which])) {
			atomic_inc(&violations);
			atomic_inc(&written_while_read);
		}
	}
	for (i = 0; i < COPIES; i++)
		WRITE_ONCE(data->copy[i], data->copy[i] + 1);
	WRITE_ONCE(data->writing, false);
}

static u64 sum_of_reads(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < readers; i++)
		sum += READ_ONCE(workers[i].reads);
	return sum;
}

static u64 sum_of_writes(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < readers + writers; i++)
		sum += READ_ONCE(workers[i].writes);
	return sum;
}

/*
 * Whoever is ahead of its target sleeps, so that both are reached at about the
 * same time, and a machine that emulates more CPUs than it has is not kept busy
 * by one side.
 */
static void pause(struct worker *self)
{
	bool is_reader = self < &workers[readers];

	if (!reads || !writes) {
		if (is_reader && !random(self, 8))
			usleep_range(500, 2000);
		else if (!is_reader && !random(self, 4))
			usleep_range(50, 500);
	} else if ((sum_of_reads() * writes > sum_of_writes() * reads) == is_reader) {
		if (is_reader)
			usleep_range(2000, 8000);
		else if (!random(self, 4))
			usleep_range(200, 800);
	}
}

/* --- Readers ----------------------------------------------------------- */

static void sleep_a_while(struct worker *self)
{
	self->sleeps++;
	switch (random(self, 4)) {
	case 0:
		schedule_timeout_uninterruptible(1);
		break;
	case 1:
		usleep_range(20, 100);
		break;
	case 2:
		/* An rmlock keeps its readers on their CPU. */
		if (current->migration_disabled)
			break;
		set_cpus_allowed_ptr(current, cpumask_of(cpumask_any(cpu_online_mask)));
		set_cpus_allowed_ptr(current, cpu_possible_mask);
		break;
	default:
		yield();
	}
}

static void read_quickly(struct worker *self, int which)
{
	void *it = guarded[which].lock;
	struct lock_hold hold;
	int i;

	for (i = 0; i < BURST; i++) {
		ops->readlock(it, &hold);
		enter(self, which);
		leave(self, which);
		ops->readunlock(it, &hold);
	}
	self->reads += BURST;
}

static void read_both(struct worker *self)
{
	struct lock_hold outer, inner;

	ops->readlock(guarded[0].lock, &outer);
	enter(self, 0);
	ops->readlock(guarded[1].lock, &inner);
	enter(self, 1);
	if (sleepers && !random(self, 8))
		sleep_a_while(self);
	if (random(self, 2)) {
		leave(self, 0);
		ops->readunlock(guarded[0].lock, &outer);
		leave(self, 1);
		ops->readunlock(guarded[1].lock, &inner);
	} else {
		leave(self, 1);
		ops->readunlock(guarded[1].lock, &inner);
		leave(self, 0);
		ops->readunlock(guarded[0].lock, &outer);
	}
	self->reads += 2;
}

static void read_otherwise(struct worker *self, int which)
{
	void *it = guarded[which].lock;
	struct lock_hold hold;

	if (random(self, 2) && ops->try_readlock) {
		self->attempts++;
		if (!ops->try_readlock(it, &hold))
			return;
		self->successes++;
	} else if (ops->readlock_killable) {
		if (ops->readlock_killable(it, &hold))
			return;
	} else {
		return;
	}
	enter(self, which);
	leave(self, which);
	ops->readunlock(it, &hold);
	self->reads++;
}

static void read_and_upgrade(struct worker *self, int which)
{
	void *it = guarded[which].lock;
	struct lock_hold hold;
	u64 before;

	ops->readlock(it, &hold);
	enter(self, which);
	self->reads++;
	before = READ_ONCE(guarded[which].copy[0]);
	leave(self, which);
	self->attempts++;
	if (ops->upgrade(it)) {
		if (READ_ONCE(guarded[which].copy[0]) != before)
			atomic_inc(&violations);
		write_inside(self, which);
		self->writes++;
		self->successes++;
		ops->writeunlock(it);
	} else {
		enter(self, which);
		leave(self, which);
		ops->readunlock(it, &hold);
	}
}

static void read_asleep(struct worker *self, int which)
{
	struct lock_hold hold;

	ops->readlock(guarded[which].lock, &hold);
	enter(self, which);
	sleep_a_while(self);
	leave(self, which);
	ops->readunlock(guarded[which].lock, &hold);
	self->reads++;
}

static int reader(void *data)
{
	struct worker *self = data;

	while (!kthread_should_stop()) {
		int which = random(self, LOCKS);

		switch (random(self, 128)) {
		case 0:
			if (sleepers && ops->readers_may_sleep)
				read_asleep(self, which);
			break;
		case 1:
		case 2:
			read_both(self);
			break;
		case 3:
		case 4:
			read_otherwise(self, which);
			break;
		case 5:
			if (ops->upgrade)
				read_and_upgrade(self, which);
			break;
		default:
			read_quickly(self, which);
		}
		pause(self);
		cond_resched();
	}
	return 0;
}

/* --- Writers ----------------------------------------------------------- */

/* In quick succession, as a program writes that fills a table. */
static void write_many(struct worker *self, int which)
{
	int left;

	for (left = random(self, 64); left; left--) {
		ops->writelock(guarded[which].lock);
		write_inside(self, which);
		ops->writeunlock(guarded[which].lock);
		self->writes++;
	}
}

static int writer(void *data)
{
	struct worker *self = data;

	while (!kthread_should_stop()) {
		int which = random(self, LOCKS);
		void *it = guarded[which].lock;
		struct lock_hold hold;

		switch (random(self, 8)) {
		case 0:
			if (!ops->try_writelock)
				continue;
			self->attempts++;
			if (!ops->try_writelock(it)) {
				pause(self);
				continue;
			}
			self->successes++;
			break;
		case 1:
			if (!ops->writelock_killable || ops->writelock_killable(it))
				continue;
			break;
		case 2:
			write_many(self, which);
			fallthrough;
		default:
			ops->writelock(it);
		}
		write_inside(self, which);
		if (sleepers && !random(self, 256))
			usleep_range(20, 100);
		write_inside(self, which);
		self->writes++;
		if (ops->downgrade && !random(self, 8)) {
			u64 before = READ_ONCE(guarded[which].copy[0]);

			ops->downgrade(it);
			look(self, which);
			if (READ_ONCE(guarded[which].copy[0]) != before)
				atomic_inc(&violations);
			ops->readunlock(it, &hold);
		} else {
			ops->writeunlock(it);
		}
		pause(self);
		cond_resched();
	}
	return 0;
}

/* --- The run ----------------------------------------------------------- */

static int start_worker(unsigned int i)
{
	struct task_struct *task;

	task = kthread_create(i < readers ? reader : writer, &workers[i],
			      i < readers ? "torture_reader/%u" : "torture_writer/%u", i);
	if (IS_ERR(task)) {
		workers[i].task = NULL;
		return PTR_ERR(task);
	}
	workers[i].task = task;
	wake_up_process(task);
	return 0;
}

static void stop_worker(unsigned int i)
{
	if (workers[i].task)
		kthread_stop(workers[i].task);
	workers[i].task = NULL;
}

static int restart_reader(unsigned int i)
{
	stop_worker(i);
	return start_worker(i);
}

static const char *run(void)
{
	unsigned long end = jiffies + seconds * HZ;
	unsigned long reads_at = jiffies, writes_at = jiffies;
	u64 last_reads = 0, last_writes = 0;

	for (;;) {
		u64 now_reads = sum_of_reads(), now_writes = sum_of_writes();

		if (atomic_read(&violations))
			return "FAIL: violated";
		if (prw_imbalances())
			return "FAIL: unbalanced";
		if (now_reads != last_reads)
			reads_at = jiffies;
		if (now_writes != last_writes)
			writes_at = jiffies;
		last_reads = now_reads;
		last_writes = now_writes;
		if (time_after(jiffies, reads_at + stall_seconds * HZ))
			return "FAIL: readers stuck";
		if (writers && time_after(jiffies, writes_at + stall_seconds * HZ))
			return "FAIL: writers stuck";
		if ((reads || writes) && now_reads >= reads && now_writes >= writes)
			return "PASS";
		if (time_after(jiffies, end))
			return reads || writes ? "FAIL: too slow" : "PASS";
		msleep(50);
	}
}

static void print_verdict(const char *verdict, unsigned long began)
{
	u64 sleeps = 0, attempts = 0, successes = 0;
	unsigned int i;

	for (i = 0; i < readers + writers; i++) {
		sleeps += workers[i].sleeps;
		attempts += workers[i].attempts;
		successes += workers[i].successes;
	}
	pr_info("readmost_torture: %s: %s: reads=%llu writes=%llu sleeps=%llu tries=%llu tries_successful=%llu violations=%d read_while_written=%d written_while_read=%d imbalances=%llu hotplug=%u restarts=%u ms=%u\n",
		ops->name, verdict, sum_of_reads(), sum_of_writes(), sleeps, attempts, successes,
		atomic_read(&violations), atomic_read(&read_while_written),
		atomic_read(&written_while_read), prw_imbalances(), hotplug ? torture_hotplugs() : 0, churn ? torture_restarts() : 0,
		jiffies_to_msecs(jiffies - began));
}

static void free_all(void)
{
	int i;

	for (i = 0; i < LOCKS; i++) {
		if (guarded[i].lock)
			ops->destroy(guarded[i].lock);
	}
	kvfree(workers);
}

static int __init lock_torture_init(void)
{
	unsigned long began = jiffies;
	const char *verdict;
	unsigned int i;
	int ret = 0;

	ops = find_lock(lock);
	if (!ops) {
		pr_warn("readmost_torture: parameter lock: '%s' is unknown; choose prwlock, prwlock_domain, rwsem, percpu_rwsem or rmlock; prwlock is tortured\n",
			lock);
		ops = find_lock("prwlock");
	}
	if (!readers)
		readers = max(2u, num_online_cpus() * 3 / 2);

	workers = kvcalloc(readers + writers, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (i = 0; i < LOCKS; i++) {
		guarded[i].lock = ops->create(i);
		if (!guarded[i].lock) {
			free_all();
			return -ENOMEM;
		}
	}
	for (i = 0; i < readers + writers; i++) {
		prandom_seed_state(&workers[i].random, i + 1);
		ret = start_worker(i);
		if (ret)
			break;
	}
	if (!ret && churn)
		ret = torture_start_churn(readers, restart_reader);
	if (!ret && hotplug)
		ret = torture_start_hotplug();

	verdict = ret ? "FAIL: cannot start" : run();
	print_verdict(verdict, began);
	torture_stop_hotplug();
	if (strcmp(verdict, "PASS") && !ret) {
		/* Threads may be stuck in the lock, and use what this module contains. */
		pr_warn("readmost_torture: stays loaded, since threads may hang\n");
		__module_get(THIS_MODULE);
		return 0;
	}
	torture_stop_churn();
	for (i = 0; i < readers + writers; i++)
		stop_worker(i);
	free_all();
	return ret;
}

static void __exit lock_torture_exit(void)
{
}

module_init(lock_torture_init);
module_exit(lock_torture_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Torture test of reader-writer locks");
