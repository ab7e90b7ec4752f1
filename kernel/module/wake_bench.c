// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Counts what it takes to wake readers that sleep until a writer leaves: how many
 * of them the writer itself wakes, how many interrupts are sent, and how often the
 * readers are switched.
 *
 * The test runs while the module is loaded, and prints one line.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "counts.h"
#include "lock_ops.h"

static char *contender = "prwlock";
module_param(contender, charp, 0444);
MODULE_PARM_DESC(contender, "a lock (default prwlock)");

static unsigned int rounds = 100;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often the readers sleep and are woken (default 100)");

static unsigned int sleepers;
module_param(sleepers, uint, 0444);
MODULE_PARM_DESC(sleepers, "readers, spread over all CPUs but the writer's (default: one per CPU)");

static const struct lock_ops *ops;
static void *lock;

struct sleeper {
	struct task_struct *task;
	bool waits;	/* for the lock */
	u64 switches;
} ____cacheline_aligned_in_smp;

static struct sleeper *all;
static struct task_struct *writer;
static unsigned int round;
static atomic_t passed;
static atomic64_t woken_by_writer, woken_by_others;

static void on_waking(void *data, struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < sleepers; i++) {
		if (all[i].task != task)
			continue;
		if (!READ_ONCE(all[i].waits))
			return;
		if (current == writer && in_task())
			atomic64_inc(&woken_by_writer);
		else
			atomic64_inc(&woken_by_others);
		return;
	}
}

static int sleeper(void *data)
{
	struct sleeper *self = data;
	struct lock_hold hold;
	unsigned int done = 0;
	u64 before;

	while (!kthread_should_stop()) {
		if (READ_ONCE(round) == done) {
			usleep_range(200, 500);
			continue;
		}
		done = READ_ONCE(round);
		before = switches_of(current);
		WRITE_ONCE(self->waits, true);
		ops->readlock(lock, &hold);
		WRITE_ONCE(self->waits, false);
		self->switches += switches_of(current) - before;
		ops->readunlock(lock, &hold);
		atomic_inc(&passed);
	}
	return 0;
}

static bool all_asleep(void)
{
	unsigned int i;

	for (i = 0; i < sleepers; i++) {
		if (!READ_ONCE(all[i].waits) || task_is_running(all[i].task))
			return false;
	}
	return true;
}

static void measure(void)
{
	u64 calls = 0, reschedules = 0, switches = 0;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		u64 calls_before, reschedules_before;

		ops->writelock(lock);
		atomic_set(&passed, 0);
		WRITE_ONCE(round, round + 1);
		do
			usleep_range(200, 500);
		while (!all_asleep());
		calls_before = call_interrupts();
		reschedules_before = reschedule_interrupts();
		ops->writeunlock(lock);
		while (atomic_read(&passed) < sleepers)
			cond_resched();
		calls += call_interrupts() - calls_before;
		reschedules += reschedule_interrupts() - reschedules_before;
	}
	for (i = 0; i < sleepers; i++)
		switches += all[i].switches;
	pr_info("readmost_wake_bench: %s: sleepers=%u rounds=%u woken_by_writer=%lld woken_by_others=%lld call_interrupts=%llu reschedule_interrupts=%llu reader_switches=%llu\n",
		ops->name, sleepers, rounds, atomic64_read(&woken_by_writer),
		atomic64_read(&woken_by_others), calls, reschedules, switches);
}

static int start_sleeper(unsigned int i, unsigned int writer_cpu)
{
	unsigned int cpu = writer_cpu, skip;
	struct task_struct *task;

	task = kthread_create(sleeper, &all[i], "wake_bench/%u", i);
	if (IS_ERR(task))
		return PTR_ERR(task);
	for (skip = 0; skip <= i % max(1u, num_online_cpus() - 1); skip++)
		cpu = (cpu + 1) % num_online_cpus();
	kthread_bind(task, cpu);
	all[i].task = task;
	wake_up_process(task);
	return 0;
}

static int run(void)
{
	unsigned int i;
	int ret = 0;

	writer = current;
	for (i = 0; !ret && i < sleepers; i++)
		ret = start_sleeper(i, raw_smp_processor_id());
	if (!ret)
		measure();
	for (i = 0; i < sleepers; i++) {
		if (all[i].task)
			kthread_stop(all[i].task);
	}
	return ret;
}

static struct tracepoint *sched_waking;

static void find_sched_waking(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_waking"))
		sched_waking = point;
}

static int __init wake_bench_init(void)
{
	int ret;

	ops = find_lock(contender);
	if (!ops) {
		pr_err("readmost_wake_bench: parameter contender: '%s' is unknown; choose prwlock, prwlock_domain, rwsem, percpu_rwsem or rmlock\n",
		       contender);
		return -EINVAL;
	}
	if (!sleepers)
		sleepers = max(1u, num_online_cpus() - 1);
	rounds = max(1u, rounds);
	for_each_kernel_tracepoint(find_sched_waking, NULL);
	if (!sched_waking)
		return -ENODEV;
	all = kcalloc(sleepers, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	lock = ops->create(0);
	ret = lock ? tracepoint_probe_register(sched_waking, on_waking, NULL) : -ENOMEM;
	if (!ret) {
		/* The writer stays where no sleeper is. */
		set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
		ret = run();
		set_cpus_allowed_ptr(current, cpu_possible_mask);
		tracepoint_probe_unregister(sched_waking, on_waking, NULL);
		tracepoint_synchronize_unregister();
	}
	if (lock)
		ops->destroy(lock);
	kfree(all);
	return ret;
}

static void __exit wake_bench_exit(void)
{
}

module_init(wake_bench_init);
module_exit(wake_bench_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Counts what it takes to wake the readers behind a writer");
