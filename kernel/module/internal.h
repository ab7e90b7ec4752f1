/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* What the files of readmost.ko share: parameters, statistics and hooks. */
#ifndef READMOST_INTERNAL_H
#define READMOST_INTERNAL_H

#include <linux/moduleparam.h>
#include <linux/percpu.h>

#include "config.h"
#include "supported.h"

/**
 * struct readmost_range - an unsigned parameter that falls back if it is wrong
 * @value: the present value
 * @lowest: lowest value that is accepted
 * @highest: highest value that is accepted
 */
struct readmost_range {
	unsigned int value;
	unsigned int lowest;
	unsigned int highest;
};

extern const struct kernel_param_ops readmost_range_ops;

#define READMOST_PARAMETER(name, initial, low, high, text)		\
	struct readmost_range name##_parameter = {			\
		.value = (initial), .lowest = (low), .highest = (high),	\
	};								\
	module_param_cb(name, &readmost_range_ops, &name##_parameter, 0644); \
	MODULE_PARM_DESC(name, text " (" #low " to " #high ", default " #initial ")")

extern struct readmost_range bias_after_parameter;
extern struct readmost_range bias_worth_parameter;
extern struct readmost_range patience_us_parameter;
extern struct readmost_range rcu_patience_parameter;
extern struct readmost_range wake_in_parallel_parameter;

/* Faults of a build with READMOST_FAULTS; see core.c. */
enum readmost_fault {
	FAULT_NONE,
	FAULT_NO_IPI,
	FAULT_NO_SCHEDULE_OUT,
	FAULT_VERSION_TOO_FEW,
	FAULT_DOMAIN_LEAKS,
	FAULT_NO_WAKE_UP,
};

#ifdef READMOST_FAULTS
extern enum readmost_fault readmost_fault;
#define is_fault(name)		unlikely(readmost_fault == (name))
#else
#define is_fault(name)		false
#endif

#ifdef CONFIG_MMAP_PRWLOCK
#define READMOST_PARKING_STATISTICS(X)
#else
#define READMOST_PARKING_STATISTICS(X)					\
	X(parked,		"readers that slept until a writer had left") \
	X(woken,		"of them, those that a CPU has woken")	\
	X(wake_ups_asked,	"interrupts for CPUs to wake their sleepers")
#endif

/* Statistics of rare events, per CPU, summed in debugfs. */
#define READMOST_STATISTICS(X)						\
	X(active_reads,		"read locks taken in the semaphore")	\
	X(passive_retries,	"passive read locks that met a writer")	\
	X(converted,		"passive holds counted at a switch")	\
	X(biases_given,		"times that readers earned a bias")	\
	X(biases_restored,	"times that a writer gave a bias back")	\
	X(revocations,		"write locks that revoked a bias")	\
	X(writes_unbiased,	"write locks that found no bias")	\
	X(handoffs,		"write locks passed without consensus")	\
	X(reports,		"reports by readers, spinners and switches") \
	X(rounds,		"rounds of consensus")			\
	X(rounds_without_ipi,	"rounds in which every CPU reported in time") \
	X(ipis,			"interrupts sent to stragglers")	\
	X(drain_sleeps,		"writers that slept for readers inside") \
	READMOST_PARKING_STATISTICS(X)					\
	X(backouts,		"write locks given up after a revocation") \
	X(upgrades,		"read locks upgraded")			\
	X(upgrades_failed,	"upgrades refused")			\
	X(imbalances,		"read unlocks of a lock that nobody read-locked") \
	X(rcu_grace_periods,	"grace periods of FCP-RCU")		\
	X(rcu_without_ipi,	"grace periods in which every CPU reported in time") \
	X(rcu_ipis,		"interrupts sent by grace periods")	\
	X(rcu_converted,	"read sections counted at a switch")	\
	X(rcu_callbacks,	"callbacks invoked")

struct readmost_statistics {
#define X(name, text)	u64 name;
	READMOST_STATISTICS(X)
#undef X
};

DECLARE_PER_CPU(struct readmost_statistics, readmost_statistics);

#define count_event(name)	this_cpu_inc(readmost_statistics.name)
#define count_events(name, n)	this_cpu_add(readmost_statistics.name, n)

/* Whether the next two are called: until then no lock is biased. */
extern bool readmost_watches_switches;

/* Called at each context switch, by the CPU that switches, with interrupts disabled. */
void prw_schedule_out(void);
void fcp_rcu_schedule_out(void);

int fcp_rcu_start(void);
void fcp_rcu_stop(void);

#endif /* READMOST_INTERNAL_H */
