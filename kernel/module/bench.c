// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Counts what locks and grace periods do to the machine, for the table of
 * docs/kernel.md: interrupts, context switches, and shared lines that readers
 * write. It reports no time: under emulation that would say nothing.
 *
 * The test runs while the module is loaded, and prints one line per contender.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "fcp_rcu.h"
#include "lock_ops.h"
#include "prwlock.h"

static unsigned int reads = 20000;
module_param(reads, uint, 0444);
MODULE_PARM_DESC(reads, "reads of each reader (default 20000)");

static unsigned int writes = 50;
module_param(writes, uint, 0444);
MODULE_PARM_DESC(writes, "writes, or grace periods (default 50)");

static unsigned int readers;
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "reader threads, one per CPU (default: all CPUs but one)");

/* --- Contenders -------------------------------------------------------- */

static const struct lock_ops *lock_under_test;
static void *lock;

static void read_of_lock(void)
{
	struct lock_hold hold;

	lock_under_test->readlock(lock, &hold);
	barrier();
	lock_under_test->readunlock(lock, &hold);
}

static void write_of_lock(void)
{
	lock_under_test->writelock(lock);
	barrier();
	lock_under_test->writeunlock(lock);
}

static void read_of_fcp_rcu(void)
{
	struct fcp_rcu_reader section;

	fcp_rcu_read_lock(&section);
	barrier();
	fcp_rcu_read_unlock(&section);
}

DEFINE_STATIC_SRCU(srcu);

static void read_of_srcu(void)
{
	int idx = srcu_read_lock(&srcu);

	barrier();
	srcu_read_unlock(&srcu, idx);
}

static void write_of_srcu(void)
{
	synchronize_srcu(&srcu);
}

static void write_of_srcu_expedited(void)
{
	synchronize_srcu_expedited(&srcu);
}

static void read_of_rcu(void)
{
	rcu_read_lock();
	barrier();
	rcu_read_unlock();
}

static const struct grace_period_contender {
	const char *name;
	void (*read)(void);
	void (*write)(void);
} grace_period_contenders[] = {
	{ "fcp_rcu", read_of_fcp_rcu, fcp_rcu_synchronize },
	{ "fcp_rcu_expedited", read_of_fcp_rcu, fcp_rcu_synchronize_expedited },
	{ "srcu", read_of_srcu, write_of_srcu },
	{ "srcu_expedited", read_of_srcu, write_of_srcu_expedited },
	{ "rcu", read_of_rcu, synchronize_rcu },
	{ "rcu_expedited", read_of_rcu, synchronize_rcu_expedited },
};

/* --- A run ------------------------------------------------------------- */

static void (*read_once)(void);
static void (*write_once)(void);
static atomic_t ready, finished;
static bool go;

struct tally {
	u64 switches;
} ____cacheline_aligned_in_smp;

static struct tally *tallies;

static u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static int reader(void *data)
{
	struct tally *tally = data;
	u64 began;
	unsigned int i;

	atomic_inc(&ready);
	while (!READ_ONCE(go))
		usleep_range(100, 500);
	began = switches_of(current);
	for (i = 0; i < reads; i++) {
		read_once();
		if (i % 64 == 0)
			cond_resched();
	}
	tally->switches = switches_of(current) - began;
	atomic_inc(&finished);
	/* Keeps reading beside the writer, which does not end before. */
	while (!kthread_should_stop()) {
		read_once();
		cond_resched();
	}
	return 0;
}

/* Function call interrupts of all CPUs, as in /proc/interrupts. */
static u64 interrupts(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(irq_stat, cpu).irq_call_count);
	return sum;
}

/* Prints what one contender did. */
static int measure(const char *name)
{
	struct task_struct **tasks = kcalloc(readers, sizeof(*tasks), GFP_KERNEL);
	u64 began, asked, switches = 0;
	unsigned int i;
	int ret = 0;

	if (!tasks)
		return -ENOMEM;
	memset(tallies, 0, readers * sizeof(*tallies));
	atomic_set(&ready, 0);
	atomic_set(&finished, 0);
	WRITE_ONCE(go, false);
	for (i = 0; i < readers; i++) {
		struct task_struct *task = kthread_create(reader, &tallies[i], "bench/%u", i);

		if (IS_ERR(task)) {
			ret = PTR_ERR(task);
			break;
		}
		tasks[i] = task;
		kthread_bind(task, (i + 1) % num_online_cpus());
		wake_up_process(task);
	}
	if (!ret) {
		while (atomic_read(&ready) < readers)
			msleep(20);
		WRITE_ONCE(go, true);
		began = switches_of(current);
		asked = interrupts();
		for (i = 0; i < writes; i++) {
			write_once();
			cond_resched();
			usleep_range(500, 1000);
		}
		asked = interrupts() - asked;
		/* One for the pause after each write. */
		began = switches_of(current) - began;
		began -= min_t(u64, began, writes);
		while (atomic_read(&finished) < readers)
			msleep(20);
		for (i = 0; i < readers; i++)
			switches += tallies[i].switches;
		pr_info("readmost_bench: %s: readers=%u reads=%llu writes=%u interrupts=%llu writer_waits=%llu reader_switches=%llu\n",
			name, readers, (u64)readers * reads, writes, asked, began, switches);
	}
	for (i = 0; i < readers; i++) {
		if (tasks[i])
			kthread_stop(tasks[i]);
	}
	kfree(tasks);
	return ret;
}

static char *contender = "prwlock";
module_param(contender, charp, 0444);
MODULE_PARM_DESC(contender, "a lock, or fcp_rcu, fcp_rcu_expedited, srcu, srcu_expedited, rcu, rcu_expedited");

static int measure_grace_periods(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(grace_period_contenders); i++) {
		if (!strcmp(grace_period_contenders[i].name, contender)) {
			read_once = grace_period_contenders[i].read;
			write_once = grace_period_contenders[i].write;
			return measure(contender);
		}
	}
	pr_err("readmost_bench: parameter contender: '%s' is unknown; choose prwlock, rwsem, percpu_rwsem, rmlock, fcp_rcu, fcp_rcu_expedited, srcu, srcu_expedited, rcu or rcu_expedited\n",
	       contender);
	return -EINVAL;
}

static int __init bench_init(void)
{
	int ret;

	if (!readers)
		readers = max(1u, num_online_cpus() - 1);
	tallies = kcalloc(readers, sizeof(*tallies), GFP_KERNEL);
	if (!tallies)
		return -ENOMEM;
	lock_under_test = find_lock(contender);
	if (lock_under_test) {
		lock = lock_under_test->create(0);
		read_once = read_of_lock;
		write_once = write_of_lock;
		ret = lock ? measure(contender) : -ENOMEM;
		if (lock)
			lock_under_test->destroy(lock);
	} else {
		ret = measure_grace_periods();
	}
	kfree(tallies);
	return ret;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Counts what locks and grace periods do");
