// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * FCP-RCU: read sections, grace periods, callbacks.
 *
 * Why a grace period waits for every section that began before it:
 *
 * A section stores its node into its CPU's list, then dereferences (A). A grace
 * period raises the version to v (B) and waits for each online CPU to store a
 * report of v while its list is empty (C). As in prwlock.c, on a machine with
 * TSO the report tells both that earlier sections have ended and that later ones
 * see what was published before B.
 *
 * At a context switch the CPU's sections are counted (D) before its list is
 * emptied. All of them began after the CPU's last report. If that was of the
 * present version v, the grace period v does not concern them, and they go into
 * count v modulo 2; otherwise it was of v - 1, since v cannot have ended without
 * a report, and they go into count (v - 1) modulo 2. That is the one for which
 * grace period v waits (E), after all reports. So a steady stream of sleeping
 * readers does not prolong a grace period.
 *
 * A CPU is offline until its first section, and again once it was interrupted
 * with an empty list, or was unplugged. The section that brings it online has
 * the only fence (F), whose partner is B.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "fcp_rcu.h"
#include "internal.h"

#define PASSIVE		(-1)

/* Written by its CPU only, except that a CPU that is about to come up is set offline. */
struct fcp_cpu {
	struct fcp_rcu_reader *innermost;
	u64 seen;
	bool online;
	struct irq_work wake;
};

static DEFINE_PER_CPU_ALIGNED(struct fcp_cpu, fcp_cpu);

static atomic64_t version ____cacheline_aligned_in_smp = ATOMIC64_INIT(1);

static atomic_t active[2] ____cacheline_aligned_in_smp;
static DECLARE_WAIT_QUEUE_HEAD(leader_wait);
static DEFINE_MUTEX(leader);
static atomic_t hurried;	/* callers that want the present grace period to end soon */
static u64 completed = 1;

#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key fcp_rcu_lock_key;
struct lockdep_map fcp_rcu_lock_map =
	STATIC_LOCKDEP_MAP_INIT("fcp_rcu_read_lock", &fcp_rcu_lock_key);
EXPORT_SYMBOL_GPL(fcp_rcu_lock_map);
#endif

/* --- Read sections ----------------------------------------------------- */

static void wake_leader(void)
{
	if (wq_has_sleeper(&leader_wait))
		wake_up_all(&leader_wait);
}

static void wake_leader_later(struct irq_work *work)
{
	wake_leader();
}

/* The list of the CPU is empty. */
static noinline void report_quiet(struct fcp_cpu *cpu)
{
	smp_store_release(&cpu->seen, atomic64_read_acquire(&version));	/* C */
	count_event(reports);
	wake_leader();
}

static noinline void come_online(struct fcp_cpu *cpu)
{
	WRITE_ONCE(cpu->online, true);
	smp_mb();	/* F */
	smp_store_release(&cpu->seen, atomic64_read_acquire(&version));
}

/**
 * fcp_rcu_read_lock() - begin a read section
 * @reader: on the caller's stack, until fcp_rcu_read_unlock()
 *
 * Process context only. Sections may nest, overlap and sleep.
 */
void fcp_rcu_read_lock(struct fcp_rcu_reader *reader)
{
	struct fcp_cpu *cpu;

	READMOST_WARN_ON(!in_task());
	preempt_disable();
	cpu = this_cpu_ptr(&fcp_cpu);
	reader->outer = cpu->innermost;
	reader->counted = PASSIVE;
	WRITE_ONCE(cpu->innermost, reader);	/* A */
	barrier();
	if (unlikely(!READ_ONCE(cpu->online)))
		come_online(cpu);
	preempt_enable();
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_acquire(&fcp_rcu_lock_map, 0, 0, 2, 0, NULL, _RET_IP_);
#endif
}
EXPORT_SYMBOL_GPL(fcp_rcu_read_lock);

/* A section that ends before one that began later. */
static noinline void unlink_outer(struct fcp_cpu *cpu, struct fcp_rcu_reader *reader)
{
	struct fcp_rcu_reader *inner;

	for (inner = cpu->innermost; inner; inner = inner->outer) {
		if (inner->outer == reader) {
			inner->outer = reader->outer;
			return;
		}
	}
	count_event(imbalances);
	WARN_ONCE(1, "readmost: end of a read section that has not begun\n");
}

static noinline void end_counted(struct fcp_rcu_reader *reader)
{
	if (atomic_dec_and_test(&active[reader->counted]))
		wake_leader();
}

/**
 * fcp_rcu_read_unlock() - end a read section
 * @reader: given to fcp_rcu_read_lock() by the same task
 */
void fcp_rcu_read_unlock(struct fcp_rcu_reader *reader)
{
	struct fcp_cpu *cpu;

#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_release(&fcp_rcu_lock_map, _RET_IP_);
#endif
	preempt_disable();
	if (likely(reader->counted == PASSIVE)) {
		cpu = this_cpu_ptr(&fcp_cpu);
		if (likely(cpu->innermost == reader))
			smp_store_release(&cpu->innermost, reader->outer); /* before C */
		else
			unlink_outer(cpu, reader);
		/* An interrupt may ask for a report here; what follows then sees its version. */
		barrier();
		if (unlikely(cpu->seen != (u64)atomic64_read(&version)) && !cpu->innermost)
			report_quiet(cpu);
	} else {
		end_counted(reader);
	}
	preempt_enable();
}
EXPORT_SYMBOL_GPL(fcp_rcu_read_unlock);

void fcp_rcu_schedule_out(void)
{
	struct fcp_cpu *cpu = this_cpu_ptr(&fcp_cpu);
	struct fcp_rcu_reader *reader = cpu->innermost;
	u64 now;

	if (is_fault(FAULT_NO_SCHEDULE_OUT))
		return;
	if (likely(!cpu->online))
		return;
	now = atomic64_read_acquire(&version);
	if (reader) {
		int count = (cpu->seen == now ? now : now - 1) & 1;

		for (; reader; reader = reader->outer) {
			reader->counted = count;
			atomic_inc(&active[count]);	/* D */
			count_event(rcu_converted);
		}
		smp_store_release(&cpu->innermost, NULL);	/* after D */
	}
	if (cpu->seen != now) {
		smp_store_release(&cpu->seen, now);	/* C, after D */
		count_event(reports);
		/* The run queue is locked here, so nobody can be woken. */
		if (wq_has_sleeper(&leader_wait))
			irq_work_queue(&cpu->wake);
	}
}

/* --- Grace periods ----------------------------------------------------- */

struct grace_period {
	u64 version;
	unsigned int asked;
};

static bool is_straggler(u64 awaited, int n)
{
	struct fcp_cpu *cpu = per_cpu_ptr(&fcp_cpu, n);

	if (is_fault(FAULT_VERSION_TOO_FEW))
		awaited--;
	/* Pairs with C. */
	return smp_load_acquire(&cpu->online) && smp_load_acquire(&cpu->seen) < awaited;
}

static bool are_stragglers(u64 awaited)
{
	int n;

	for_each_online_cpu(n) {
		if (is_straggler(awaited, n))
			return true;
	}
	return false;
}

static bool must_ask(int n, void *info)
{
	struct grace_period *period = info;

	if (!is_straggler(period->version, n))
		return false;
	period->asked++;
	return true;
}

static void report_to_leader(void *info)
{
	struct fcp_cpu *cpu = this_cpu_ptr(&fcp_cpu);
	u64 now = atomic64_read_acquire(&version);

	/* Otherwise the end of the section, or a switch, reports. */
	if (!cpu->innermost) {
		smp_store_release(&cpu->seen, now);	/* C */
		smp_store_release(&cpu->online, false);	/* C */
	}
}

/* Gives the CPUs the time to report by themselves. */
static bool reported_in_time(u64 awaited, bool expedited)
{
	u64 spin_until = ktime_get_mono_fast_ns() +
			 (u64)READ_ONCE(patience_us_parameter.value) * NSEC_PER_USEC;
	int jiffies_left = READ_ONCE(rcu_patience_parameter.value);

	while (are_stragglers(awaited)) {
		if (ktime_get_mono_fast_ns() < spin_until) {
			cpu_relax();
			continue;
		}
		if (expedited || atomic_read(&hurried) || !jiffies_left--)
			return false;
		wait_event_timeout(leader_wait,
				   atomic_read(&hurried) || !are_stragglers(awaited), 1);
	}
	return true;
}

/* The caller holds the leader's mutex. */
static void run_grace_period(bool expedited)
{
	struct grace_period period = { .version = atomic64_inc_return(&version) };	/* B */

	preempt_disable();
	if (!__this_cpu_read(fcp_cpu.innermost))
		report_quiet(this_cpu_ptr(&fcp_cpu));
	preempt_enable();

	if (reported_in_time(period.version, expedited)) {
		count_event(rcu_without_ipi);
	} else if (!is_fault(FAULT_NO_IPI)) {
		on_each_cpu_cond_mask(must_ask, report_to_leader, &period, true, cpu_online_mask);
		count_events(rcu_ipis, period.asked);
		wait_event(leader_wait, !are_stragglers(period.version));
	}
	wait_event(leader_wait, !atomic_read_acquire(&active[(period.version - 1) & 1])); /* E */
	smp_mb();	/* What the caller does next comes after all those sections. */
	WRITE_ONCE(completed, period.version);
	count_event(rcu_grace_periods);
}

static void synchronize(u64 cookie, bool expedited)
{
	might_sleep();
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	RCU_LOCKDEP_WARN(lock_is_held(&fcp_rcu_lock_map),
			 "fcp_rcu_synchronize() inside a read section would wait for itself");
#endif
	if (expedited) {
		atomic_inc(&hurried);
		wake_leader();
	}
	mutex_lock(&leader);
	if (!fcp_rcu_poll_state(cookie))
		run_grace_period(expedited);
	mutex_unlock(&leader);
	if (expedited)
		atomic_dec(&hurried);
}

/**
 * fcp_rcu_synchronize() - wait for a grace period
 *
 * Returns once every section that began before the call has ended. Callers
 * share a grace period. CPUs are interrupted only if they do not report in
 * rcu_patience jiffies.
 */
void fcp_rcu_synchronize(void)
{
	synchronize(fcp_rcu_get_state(), false);
}
EXPORT_SYMBOL_GPL(fcp_rcu_synchronize);

/**
 * fcp_rcu_synchronize_expedited() - wait for a grace period, soon
 *
 * Interrupts CPUs that do not report in patience_us.
 */
void fcp_rcu_synchronize_expedited(void)
{
	synchronize(fcp_rcu_get_state(), true);
}
EXPORT_SYMBOL_GPL(fcp_rcu_synchronize_expedited);

/**
 * fcp_rcu_get_state() - name the grace period that would begin now
 *
 * Return: a cookie for fcp_rcu_poll_state() and fcp_rcu_cond_synchronize().
 */
u64 fcp_rcu_get_state(void)
{
	smp_mb();	/* What was unpublished before is in the grace period's past. */
	return (u64)atomic64_read(&version) + 1;
}
EXPORT_SYMBOL_GPL(fcp_rcu_get_state);

/**
 * fcp_rcu_poll_state() - whether a grace period has ended
 * @cookie: from fcp_rcu_get_state() or fcp_rcu_start_poll()
 *
 * Return: true if every section that began before the cookie was taken has ended.
 */
bool fcp_rcu_poll_state(u64 cookie)
{
	bool is_over = READ_ONCE(completed) >= cookie;

	smp_mb();	/* What the caller reclaims comes after all those sections. */
	return is_over;
}
EXPORT_SYMBOL_GPL(fcp_rcu_poll_state);

/**
 * fcp_rcu_cond_synchronize() - wait for a grace period unless it has ended
 * @cookie: from fcp_rcu_get_state() or fcp_rcu_start_poll()
 */
void fcp_rcu_cond_synchronize(u64 cookie)
{
	if (!fcp_rcu_poll_state(cookie))
		synchronize(cookie, false);
}
EXPORT_SYMBOL_GPL(fcp_rcu_cond_synchronize);

/**
 * fcp_rcu_completed() - how many grace periods have ended
 */
u64 fcp_rcu_completed(void)
{
	return READ_ONCE(completed) - 1;
}
EXPORT_SYMBOL_GPL(fcp_rcu_completed);

/* --- Callbacks --------------------------------------------------------- */

/*
 * fcp_rcu_call() adds to the CPU's list, next. The reclaimer takes all of these
 * (current), waits for a grace period, and invokes them (done).
 */
static DEFINE_PER_CPU(struct llist_head, next_callbacks);
static DECLARE_WAIT_QUEUE_HEAD(reclaimer_wait);
static DECLARE_WAIT_QUEUE_HEAD(barrier_wait);
static struct task_struct *reclaimer;
static atomic_long_t queued;
static u64 passes_begun, passes_done, pass_wanted;
static atomic64_t poll_wanted;

/* A callback, in the memory of its rcu_head: the link stands where rcu_head.next does. */
static struct llist_node *to_node(struct rcu_head *head)
{
	BUILD_BUG_ON(sizeof(struct llist_node) != sizeof(head->next) ||
		     offsetof(struct rcu_head, next) != 0);
	return (struct llist_node *)head;
}

/**
 * fcp_rcu_call() - invoke a function after a grace period
 * @head: in the object to reclaim
 * @func: called in process context by the reclaimer; may sleep, and may call this again
 *
 * Callbacks of one CPU are invoked in their order. Any context but NMI.
 */
void fcp_rcu_call(struct rcu_head *head, rcu_callback_t func)
{
	head->func = func;
	llist_add(to_node(head), raw_cpu_ptr(&next_callbacks));
	if (atomic_long_inc_return(&queued) == 1)
		wake_up(&reclaimer_wait);
}
EXPORT_SYMBOL_GPL(fcp_rcu_call);

static bool has_work(void)
{
	return atomic_long_read(&queued) || READ_ONCE(pass_wanted) > READ_ONCE(passes_begun) ||
	       (u64)atomic64_read(&poll_wanted) > READ_ONCE(completed);
}

/* Returns how many callbacks it has invoked. */
static long reclaim(void)
{
	struct llist_node *current_callbacks = NULL;
	struct llist_node **last = &current_callbacks;
	struct llist_node *done, *after;
	long invoked = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct llist_head *next = per_cpu_ptr(&next_callbacks, cpu);

		*last = llist_reverse_order(llist_del_all(next));
		while (*last)
			last = &(*last)->next;
	}
	if (current_callbacks)
		fcp_rcu_synchronize();
	llist_for_each_safe(done, after, current_callbacks) {
		struct rcu_head *head = (struct rcu_head *)done;

		head->func(head);
		invoked++;
		cond_resched();
	}
	count_events(rcu_callbacks, invoked);
	return invoked;
}

static int reclaim_until_stopped(void *data)
{
	while (!kthread_should_stop() || has_work()) {
		u64 pass;

		wait_event_interruptible(reclaimer_wait, has_work() || kthread_should_stop());
		/* Another caller's grace period may have done it meanwhile. */
		if (!has_work())
			continue;
		pass = READ_ONCE(passes_begun) + 1;
		/* A barrier that finds this pass begun waits for the next. */
		smp_store_mb(passes_begun, pass);
		atomic_long_sub(reclaim(), &queued);
		if ((u64)atomic64_read(&poll_wanted) > READ_ONCE(completed))
			fcp_rcu_cond_synchronize(atomic64_read(&poll_wanted));
		smp_store_release(&passes_done, pass);	/* after the callbacks */
		wake_up_all(&barrier_wait);
		cond_resched();
	}
	return 0;
}

/**
 * fcp_rcu_barrier() - wait until all callbacks queued before have been invoked
 *
 * Not from a callback.
 */
void fcp_rcu_barrier(void)
{
	u64 pass, wanted;

	might_sleep();
	smp_mb();	/* The caller's callbacks are in the lists. */
	pass = READ_ONCE(passes_begun) + 1;
	do {
		wanted = READ_ONCE(pass_wanted);
	} while (wanted < pass && cmpxchg(&pass_wanted, wanted, pass) != wanted);
	wake_up(&reclaimer_wait);
	wait_event(barrier_wait, smp_load_acquire(&passes_done) >= pass); /* after the callbacks */
}
EXPORT_SYMBOL_GPL(fcp_rcu_barrier);

/**
 * fcp_rcu_start_poll() - start a grace period without waiting
 *
 * Return: a cookie for fcp_rcu_poll_state(), which will become true by itself.
 */
u64 fcp_rcu_start_poll(void)
{
	u64 cookie = fcp_rcu_get_state();
	s64 wanted = atomic64_read(&poll_wanted);

	while ((u64)wanted < cookie && !atomic64_try_cmpxchg(&poll_wanted, &wanted, cookie))
		;
	wake_up(&reclaimer_wait);
	return cookie;
}
EXPORT_SYMBOL_GPL(fcp_rcu_start_poll);

/* --- Loading ----------------------------------------------------------- */

static int hotplug_state;

/* Runs before the CPU does: its first section brings it online, with a present version. */
static int prepare_cpu(unsigned int n)
{
	WRITE_ONCE(per_cpu(fcp_cpu, n).online, false);
	return 0;
}

int fcp_rcu_start(void)
{
	int n;

	for_each_possible_cpu(n)
		init_irq_work(per_cpu_ptr(&fcp_cpu.wake, n), wake_leader_later);
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "readmost:prepare",
						  prepare_cpu, NULL);
	if (hotplug_state < 0) {
		pr_err("readmost: not loaded: no hotplug state is free, error %d\n", hotplug_state);
		return hotplug_state;
	}
	reclaimer = kthread_run(reclaim_until_stopped, NULL, "fcp_rcu_reclaim");
	if (IS_ERR(reclaimer)) {
		cpuhp_remove_state_nocalls(hotplug_state);
		pr_err("readmost: not loaded: cannot start the reclaimer, error %ld\n",
		       PTR_ERR(reclaimer));
		return PTR_ERR(reclaimer);
	}
	return 0;
}

void fcp_rcu_stop(void)
{
	int n;

	fcp_rcu_barrier();
	kthread_stop(reclaimer);
	cpuhp_remove_state_nocalls(hotplug_state);
	for_each_possible_cpu(n)
		irq_work_sync(per_cpu_ptr(&fcp_cpu.wake, n));
}
