// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/* What the torture and benchmark modules share: the table of locks, CPU hotplug, the churn of threads. */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "lock_ops.h"
#include "torture.h"

static struct task_struct *hotplugger;
static unsigned int hotplugs;

static int take_cpus_away(void *data)
{
	unsigned int cpu = 0;

	while (!kthread_should_stop()) {
		cpu = cpumask_next(cpu, cpu_present_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_next(0, cpu_present_mask);
		if (cpu >= nr_cpu_ids)
			break;
		if (!remove_cpu(cpu)) {
			msleep(20);
			while (add_cpu(cpu))
				msleep(20);
			hotplugs++;
		}
		msleep(50);
	}
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

int torture_start_hotplug(void)
{
	hotplugs = 0;
	hotplugger = kthread_run(take_cpus_away, NULL, "torture_hotplug");
	if (IS_ERR(hotplugger)) {
		int ret = PTR_ERR(hotplugger);

		hotplugger = NULL;
		return ret;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(torture_start_hotplug);

void torture_stop_hotplug(void)
{
	if (hotplugger)
		kthread_stop(hotplugger);
	hotplugger = NULL;
}
EXPORT_SYMBOL_GPL(torture_stop_hotplug);

unsigned int torture_hotplugs(void)
{
	return hotplugs;
}
EXPORT_SYMBOL_GPL(torture_hotplugs);

static struct task_struct *churner;
static unsigned int churned_threads;
static int (*restart_thread)(unsigned int thread);
static unsigned int restarts;

static int churn(void *data)
{
	unsigned int next = 0;

	while (!kthread_should_stop()) {
		msleep(20);
		if (!restart_thread(next))
			restarts++;
		next = (next + 1) % churned_threads;
	}
	return 0;
}

/* Every 20 ms, calls @restart for the next of @threads. One torture at a time. */
int torture_start_churn(unsigned int threads, int (*restart)(unsigned int thread))
{
	churned_threads = threads;
	restart_thread = restart;
	restarts = 0;
	churner = kthread_run(churn, NULL, "torture_churn");
	if (IS_ERR(churner)) {
		int ret = PTR_ERR(churner);

		churner = NULL;
		return ret;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(torture_start_churn);

void torture_stop_churn(void)
{
	if (churner)
		kthread_stop(churner);
	churner = NULL;
}
EXPORT_SYMBOL_GPL(torture_stop_churn);

unsigned int torture_restarts(void)
{
	return restarts;
}
EXPORT_SYMBOL_GPL(torture_restarts);

static int __init torture_support_init(void)
{
	return 0;
}

static void __exit torture_support_exit(void)
{
}

module_init(torture_support_init);
module_exit(torture_support_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("What Readmost's test modules share");
