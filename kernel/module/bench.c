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
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "counts.h"
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

static bool instructions;
module_param(instructions, bool, 0444);
MODULE_PARM_DESC(instructions, "count those of operations that nobody disturbs, in a guest that can (default no)");

/* --- Contenders -------------------------------------------------------- */

/* What it takes to call an operation is subtracted. */
static void lock_nothing(void *lock, struct lock_hold *hold)
{
}

static void write_lock_nothing(void *lock)
{
}

static const struct lock_ops nothing = {
	.readlock = lock_nothing,
	.readunlock = lock_nothing,
	.writelock = write_lock_nothing,
	.writeunlock = write_lock_nothing,
};

static void read_nothing(void)
{
	barrier();
}

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
		asked = call_interrupts();
		for (i = 0; i < writes; i++) {
			write_once();
			cond_resched();
			usleep_range(500, 1000);
		}
		asked = call_interrupts() - asked;
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

/* --- Instructions ------------------------------------------------------ */

/* The least of some turns without a switch, since interrupts come in between; 0 if the task always slept. */
static u64 least(void (*prepare)(void), void (*operation)(void), unsigned int times)
{
	u64 best = U64_MAX;
	unsigned int turn, i;

	for (turn = 0; turn < 200; turn++) {
		u64 switches, began, taken;

		if (prepare)
			prepare();
		switches = switches_of(current);
		began = instructions_now();
		for (i = 0; i < times; i++)
			operation();
		taken = instructions_now() - began;
		if (switches_of(current) == switches)
			best = min(best, taken);
		cond_resched();
	}
	return best == U64_MAX ? 0 : best;
}

static void read_often(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		read_once();
}

/* Prints what the operations of one contender take while they are alone. */
static int count_instructions(const char *name)
{
	const struct lock_ops *ops = lock_under_test;
	u64 read, write = 0, after_reads = 0, call_read, call_write;

	if (!counts_instructions()) {
		pr_err("readmost_bench: this machine does not count instructions; only QEMU with -icount shift=0 does\n");
		return -EOPNOTSUPP;
	}
	read_often();
	read = least(NULL, read_once, 100);
	if (ops) {
		write = least(NULL, write_once, 1);
		after_reads = least(read_often, write_once, 1);
		lock_under_test = &nothing;
		call_read = least(NULL, read_of_lock, 100);
		call_write = least(NULL, write_of_lock, 1);
		lock_under_test = ops;
	} else {
		call_read = least(NULL, read_nothing, 100);
		call_write = 0;
	}
	pr_info("readmost_bench: %s: read_instructions=%llu write_instructions=%llu write_after_reads_instructions=%llu\n",
		name, (read - call_read + 50) / 100, write - min(write, call_write),
		after_reads - min(after_reads, call_write));
	return 0;
}

static char *contender = "prwlock";
module_param(contender, charp, 0444);
MODULE_PARM_DESC(contender, "a lock, or fcp_rcu, fcp_rcu_expedited, srcu, srcu_expedited, rcu, rcu_expedited");

static int run(void)
{
	return instructions ? count_instructions(contender) : measure(contender);
}

static int measure_grace_periods(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(grace_period_contenders); i++) {
		if (!strcmp(grace_period_contenders[i].name, contender)) {
			read_once = grace_period_contenders[i].read;
			write_once = grace_period_contenders[i].write;
			return run();
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
		ret = lock ? run() : -ENOMEM;
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
