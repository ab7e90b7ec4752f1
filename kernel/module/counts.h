/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/*
 * What the benchmark modules count. In a guest of QEMU with -icount shift=0 the
 * time stamp counter advances by one for each instruction.
 */
#ifndef READMOST_COUNTS_H
#define READMOST_COUNTS_H

#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <asm/msr.h>

static inline u64 instructions_now(void)
{
	return rdtsc();
}

/* Whether the counter is one of instructions: a known number of them tells. */
static inline bool counts_instructions(void)
{
	unsigned long flags;
	u64 began, taken;

	local_irq_save(flags);
	began = instructions_now();
	asm volatile(".rept 1000\n\tnop\n\t.endr");
	taken = instructions_now() - began;
	local_irq_restore(flags);
	return taken >= 1000 && taken <= 1010;
}

static inline u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Of all CPUs; @kind is a member of irq_cpustat_t. */
#define interrupts_of(kind)						\
({									\
	u64 sum_ = 0;							\
	int cpu_;							\
									\
	for_each_possible_cpu(cpu_)					\
		sum_ += READ_ONCE(per_cpu(irq_stat, cpu_).kind);	\
	sum_;								\
})

/* Function call interrupts, as in /proc/interrupts. */
static inline u64 call_interrupts(void)
{
	return interrupts_of(irq_call_count);
}

/* Interrupts that make a CPU look for another task. */
static inline u64 reschedule_interrupts(void)
{
	return interrupts_of(irq_resched_count);
}

#endif /* READMOST_COUNTS_H */
