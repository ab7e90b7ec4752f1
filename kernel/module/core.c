// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/* Loading and unloading, parameters, the hook at context switches, debugfs. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>

#include "internal.h"
#include "prw_domains.h"
#include "prw_parking.h"
#include "prwlock.h"

DEFINE_PER_CPU(struct readmost_statistics, readmost_statistics);

/* --- Parameters -------------------------------------------------------- */

/* A wrong value never keeps the module from loading: it is reported and ignored. */
static int set_range(const char *text, const struct kernel_param *param)
{
	struct readmost_range *range = param->arg;
	unsigned int value;

	if (!text || kstrtouint(text, 0, &value) ||
	    value < range->lowest || value > range->highest) {
		pr_warn("readmost: parameter %s: '%s' is not a number from %u to %u; %u stays\n",
			param->name, text ?: "", range->lowest, range->highest, range->value);
		return 0;
	}
	WRITE_ONCE(range->value, value);
	return 0;
}

static int get_range(char *buffer, const struct kernel_param *param)
{
	struct readmost_range *range = param->arg;

	return sysfs_emit(buffer, "%u\n", range->value);
}

const struct kernel_param_ops readmost_range_ops = {
	.set = set_range,
	.get = get_range,
};

READMOST_PARAMETER(bias_after, 16, 1, 1000000,
		   "active reads without a write after which a lock is biased");
READMOST_PARAMETER(bias_worth, 9, 0, 1000000,
		   "a writer gives the bias back if it lasted this many times its revocation");
READMOST_PARAMETER(patience_us, 20, 0, 1000000,
		   "microseconds for which a writer waits for reports before it interrupts");
READMOST_PARAMETER(rcu_patience, 3, 0, 1000,
		   "jiffies for which a grace period that is not expedited waits for reports");
#ifndef CONFIG_MMAP_PRWLOCK
READMOST_PARAMETER(wake_in_parallel, 1, 0, 1,
		   "readers that wait for a writer are woken by their CPUs, not by the writer");
#endif

#ifdef READMOST_FAULTS
enum readmost_fault readmost_fault;

static const char * const fault_names[] = {
	[FAULT_NONE] = "none",
	[FAULT_NO_IPI] = "no_ipi",
	[FAULT_NO_SCHEDULE_OUT] = "no_schedule_out",
	[FAULT_VERSION_TOO_FEW] = "version_too_few",
	[FAULT_DOMAIN_LEAKS] = "domain_leaks",
	[FAULT_NO_WAKE_UP] = "no_wake_up",
};

static int set_fault(const char *text, const struct kernel_param *param)
{
	int i = sysfs_match_string(fault_names, text);

	if (i < 0)
		pr_warn("readmost: parameter fault: '%s' is unknown; choose none, no_ipi, no_schedule_out, version_too_few, domain_leaks or no_wake_up; %s stays\n",
			text, fault_names[readmost_fault]);
	else
		readmost_fault = i;
	return 0;
}

static int get_fault(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", fault_names[readmost_fault]);
}

static const struct kernel_param_ops fault_ops = {
	.set = set_fault,
	.get = get_fault,
};
module_param_cb(fault, &fault_ops, NULL, 0444);
MODULE_PARM_DESC(fault, "breaks one mechanism for the torture tests to notice");
#endif

/* --- Context switches -------------------------------------------------- */

static struct tracepoint *sched_switch;

bool readmost_watches_switches __read_mostly;

static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	prw_schedule_out();
	fcp_rcu_schedule_out();
}

static void find_sched_switch(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_switch"))
		sched_switch = point;
}

static int watch_switches(void)
{
	int ret;

	for_each_kernel_tracepoint(find_sched_switch, NULL);
	if (!sched_switch) {
		pr_err("readmost: not loaded: this kernel has no sched_switch tracepoint\n");
		return -ENODEV;
	}
	ret = tracepoint_probe_register(sched_switch, on_sched_switch, NULL);
	if (ret)
		pr_err("readmost: not loaded: the sched_switch tracepoint refused the probe, error %d\n",
		       ret);
	else
		WRITE_ONCE(readmost_watches_switches, true);
	return ret;
}

static void stop_watching_switches(void)
{
	tracepoint_probe_unregister(sched_switch, on_sched_switch, NULL);
	tracepoint_synchronize_unregister();
}

/* --- Statistics -------------------------------------------------------- */

static struct dentry *directory;

static int statistics_show(struct seq_file *file, void *data)
{
	struct readmost_statistics sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		struct readmost_statistics *part = per_cpu_ptr(&readmost_statistics, cpu);

#define X(name, text)	(sum.name += READ_ONCE(part->name));
		READMOST_STATISTICS(X)
#undef X
	}
#define X(name, text)	seq_printf(file, "%-20s %12llu  %s\n", #name, sum.name, text);
	READMOST_STATISTICS(X)
#undef X
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(statistics);

static void show_domain(struct seq_file *file, struct prw_domain *domain)
{
	unsigned int online = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		online += READ_ONCE(per_cpu_ptr(domain->status, cpu)->online);
	seq_printf(file, "%-20s version %lld, %d locks, %u CPUs with readers\n",
		   domain->name, atomic64_read(&domain->version),
		   atomic_read(&domain->locks), online);
}

static int domains_show(struct seq_file *file, void *data)
{
	struct prw_domain *domain;

	show_domain(file, &prw_default_domain);
	mutex_lock(&prw_domains_lock);
	list_for_each_entry(domain, &prw_domains, entry)
		show_domain(file, domain);
	mutex_unlock(&prw_domains_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(domains);

/* --- Loading ----------------------------------------------------------- */

static int __init readmost_init(void)
{
	int ret;

	prw_parking_start();
	ret = watch_switches();
	if (ret)
		return ret;
	ret = fcp_rcu_start();
	if (ret) {
		stop_watching_switches();
		return ret;
	}
	directory = debugfs_create_dir("readmost", NULL);
	debugfs_create_file("statistics", 0444, directory, NULL, &statistics_fops);
	debugfs_create_file("domains", 0444, directory, NULL, &domains_fops);
#ifdef READMOST_FAULTS
	pr_warn("readmost: built with faults, for tests only; fault=%s\n",
		fault_names[readmost_fault]);
#endif
	return 0;
}

static void __exit readmost_exit(void)
{
	debugfs_remove_recursive(directory);
	stop_watching_switches();
	prw_parking_stop();
	fcp_rcu_stop();
}

module_init(readmost_init);
module_exit(readmost_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Reader-writer lock and RCU whose readers execute no atomic instruction");
MODULE_VERSION("0.1");
