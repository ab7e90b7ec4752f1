// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * prwlock: passive readers, consensus by versions and reports.
 *
 * Why it is right, on a machine whose stores become visible in order (TSO):
 *
 * A reader stores its slot, then loads the bias (A). A writer clears the bias,
 * raises the version (B), and waits until each online CPU has stored a report
 * of that version (C). The CPU loaded the version before it stored the report,
 * so what it loads later is no older than B: readers that come later find no
 * bias. What it stored earlier is visible to whoever sees the report: readers
 * that came earlier are in their slots, where the writer looks (D). An interrupt
 * orders the same for a CPU that does not report by itself.
 *
 * A hold moves from a slot to lock->converted at a context switch: first the
 * count is raised, then the slot cleared (E). The writer looks at the slots
 * first, then at the count (F), so it misses none.
 *
 * A CPU is offline in a domain until its first passive reader, and again once
 * it was interrupted while it held nothing. The reader that brings it online
 * has the only fence (G), whose partner is the writer's atomic operation (B).
 *
 * The section itself is ordered by release and acquire: a reader clears its slot
 * after its section (H), and a bias is set after what a writer has written (I).
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "internal.h"
#include "prw_domains.h"
#include "prw_parking.h"
#include "prwlock.h"

/* The passive holds of the task that runs on a CPU; written by that CPU only. */
struct prw_slots {
	struct prwlock *of[PRW_SLOTS];
};

static DEFINE_PER_CPU_ALIGNED(struct prw_slots, prw_slots);

static DEFINE_PER_CPU_ALIGNED(struct prw_status, default_status);

struct prw_domain prw_default_domain = {
	.version = ATOMIC64_INIT(1),
	.status = &default_status,
	.drain = __WAIT_QUEUE_HEAD_INITIALIZER(prw_default_domain.drain),
	.name = "default",
	.entry = LIST_HEAD_INIT(prw_default_domain.entry),
};
EXPORT_SYMBOL_GPL(prw_default_domain);

/* Guards the list of domains. */
DEFINE_MUTEX(prw_domains_lock);
LIST_HEAD(prw_domains);

/* --- Reports ---------------------------------------------------------- */

static bool uses_slots(struct prw_domain *domain)
{
	int i;

	for (i = 0; i < PRW_SLOTS; i++) {
		struct prwlock *lock = __this_cpu_read(prw_slots.of[i]);

		if (lock && lock->domain == domain)
			return true;
	}
	return false;
}

/* Reports the present version, for the CPU this runs on, with preemption disabled. */
static void report(struct prw_domain *domain, struct prw_status *status)
{
	u64 version = atomic64_read_acquire(&domain->version);
	bool holds = uses_slots(domain);

	smp_store_release(&status->seen, version);	/* C */
	if (!holds)
		smp_store_release(&status->quiet, version);	/* C */
	count_event(reports);
}

/* After a slot was cleared while a writer of the domain may wait for it. */
static noinline void after_release(struct prw_domain *domain, struct prw_status *status)
{
	report(domain, status);
	if (wq_has_sleeper(&domain->drain))
		wake_up_all(&domain->drain);
}

static __always_inline void clear_slot(struct prwlock **slot, struct prw_domain *domain)
{
	struct prw_status *status = this_cpu_ptr(domain->status);

	smp_store_release(slot, NULL);	/* H: the section comes before it, for D */
	/*
	 * An interrupt that reports between these two must find the slot cleared,
	 * or have changed what is compared here.
	 */
	barrier();
	if (unlikely(READ_ONCE(status->quiet) != (u64)atomic64_read(&domain->version)))
		after_release(domain, status);
}

static noinline void come_online(struct prw_domain *domain, struct prw_status *status)
{
	WRITE_ONCE(status->online, true);
	smp_mb();	/* G */
	report(domain, status);
}

void prw_schedule_out(void)
{
	struct prw_slots *slots = this_cpu_ptr(&prw_slots);
	struct prw_status *status;
	struct prw_domain *domain;
	int i;

	if (is_fault(FAULT_NO_SCHEDULE_OUT))
		return;

	for (i = 0; i < PRW_SLOTS; i++) {
		struct prwlock *lock = slots->of[i];

		if (likely(!lock))
			continue;
		domain = lock->domain;
		atomic_inc(&lock->converted);
		smp_store_release(&slots->of[i], NULL);	/* E */
		count_event(converted);
		/*
		 * No writer needs to be woken: it waits for the sum of both, and
		 * the last active reader wakes it.
		 */
		status = this_cpu_ptr(domain->status);
		if (status->quiet != (u64)atomic64_read(&domain->version))
			report(domain, status);
	}
	domain = &prw_default_domain;
	status = this_cpu_ptr(domain->status);
	if (status->online && status->quiet != (u64)atomic64_read(&domain->version))
		report(domain, status);
}

/* --- Passive readers --------------------------------------------------- */

static noinline struct prwlock **free_slot(struct prw_slots *slots)
{
	int i;

	for (i = 1; i < PRW_SLOTS; i++) {
		if (!slots->of[i])
			return &slots->of[i];
	}
	return NULL;
}

static noinline struct prwlock **slot_of(struct prw_slots *slots, struct prwlock *lock)
{
	int i;

	for (i = 1; i < PRW_SLOTS; i++) {
		if (slots->of[i] == lock)
			return &slots->of[i];
	}
	return NULL;
}

/*
 * The path that decides how fast a biased lock is; the harness checks that it
 * has neither a locked instruction nor a fence.
 */
static __always_inline bool read_passively(struct prwlock *lock)
{
	struct prw_domain *domain = lock->domain;
	struct prw_status *status;
	struct prw_slots *slots;
	struct prwlock **slot;

	if (!READ_ONCE(lock->bias))
		return false;
	preempt_disable();
	slots = this_cpu_ptr(&prw_slots);
	status = this_cpu_ptr(domain->status);
	slot = &slots->of[0];
	if (unlikely(*slot))
		slot = free_slot(slots);
	if (likely(slot)) {
		WRITE_ONCE(*slot, lock);
		barrier();
		if (likely(smp_load_acquire(&lock->bias) && READ_ONCE(status->online))) { /* A */
			preempt_enable();
			return true;
		}
		clear_slot(slot, domain);
	}
	preempt_enable();
	return false;
}

/* The first passive reader of a CPU, or one that met a writer. */
static noinline bool read_passively_again(struct prwlock *lock)
{
	struct prw_domain *domain = lock->domain;
	struct prw_status *status;

	if (!READ_ONCE(lock->bias))
		return false;
	preempt_disable();
	status = this_cpu_ptr(domain->status);
	if (!status->online)
		come_online(domain, status);
	preempt_enable();
	count_event(passive_retries);
	return read_passively(lock);
}

static __always_inline bool read_unlock_passively(struct prwlock *lock)
{
	struct prw_domain *domain = lock->domain;
	struct prw_slots *slots;
	struct prwlock **slot;

	preempt_disable();
	slots = this_cpu_ptr(&prw_slots);
	slot = &slots->of[0];
	if (unlikely(*slot != lock))
		slot = slot_of(slots, lock);
	if (likely(slot))
		clear_slot(slot, domain);
	preempt_enable();
	return slot;
}

/* --- Active readers ---------------------------------------------------- */

/*
 * Active holds are read holds of the semaphore, or converted ones. They carry
 * no name: an unlock may release either kind, since their sum is what counts,
 * and every holder of an active hold releases one of them. So what releases a
 * hold of the semaphore is up_read_non_owner().
 *
 * Lockdep sees one lock, the semaphore: acquiring it is annotated by rwsem's own
 * functions, and holds that do without it are annotated as if they had not.
 */
static int lock_sem_for_reading(struct rw_semaphore *sem, int subclass, int state)
{
	switch (state) {
	case TASK_INTERRUPTIBLE:
		return down_read_interruptible(sem);
	case TASK_KILLABLE:
		return down_read_killable(sem);
	default:
		down_read_nested(sem, subclass);
		return 0;
	}
}

static void set_bias(struct prwlock *lock)
{
	lock->revoked = false;
	WRITE_ONCE(lock->biased_at, ktime_get_mono_fast_ns());
	smp_store_release(&lock->bias, true);	/* I: what was written comes before it, for A */
}

/* The caller holds the semaphore for reading: no writer is inside. */
static void earn_bias(struct prwlock *lock)
{
	unsigned int reads;

	count_event(active_reads);
	if (READ_ONCE(lock->bias) || !READ_ONCE(readmost_watches_switches) || atomic_read(&lock->writers))
		return;
	reads = READ_ONCE(lock->reads) + 1;
	WRITE_ONCE(lock->reads, reads);
	if (reads < READ_ONCE(bias_after_parameter.value) && !READ_ONCE(lock->revoked))
		return;
	set_bias(lock);
	count_event(biases_given);
}

static int read_actively(struct prwlock *lock, int subclass, int state, unsigned long ip)
{
	int ret;

	if (read_passively_again(lock)) {
		rwsem_acquire_read(&lock->sem.dep_map, subclass, 0, ip);
		return 0;
	}
	if (prw_is_to_park(lock)) {
		/* For lockdep, which must see the wait, it is a hold that ends before the next begins. */
		rwsem_acquire_read(&lock->sem.dep_map, subclass, 0, ip);
		ret = prw_park(lock, state);
		if (!ret && read_passively_again(lock))
			return 0;
		rwsem_release(&lock->sem.dep_map, ip);
		if (ret)
			return ret;
	}
	ret = lock_sem_for_reading(&lock->sem, subclass, state);
	if (!ret)
		earn_bias(lock);
	return ret;
}

static noinline void read_unlock_actively(struct prwlock *lock)
{
	struct prw_domain *domain = lock->domain;
	int left;

	/*
	 * Once the count has fallen the lock may be gone; this keeps the domain.
	 * An upgrader waits until only its own hold is left, others until none is.
	 */
	rcu_read_lock();
	left = atomic_dec_if_positive(&lock->converted);
	if ((left == 0 || left == 1) && wq_has_sleeper(&domain->drain))
		wake_up_all(&domain->drain);
	rcu_read_unlock();
	if (left >= 0)
		return;
	if (unlikely(!rwsem_is_locked(&lock->sem))) {
		count_event(imbalances);
		WARN_ONCE(1, "readmost: read unlock of a prwlock that nobody read-locked\n");
		return;
	}
	up_read_non_owner(&lock->sem);
}

/* --- Writers ----------------------------------------------------------- */

struct round {
	struct prw_domain *domain;
	u64 version;
	unsigned int asked;
};

static u64 version_awaited(struct round *round)
{
	return round->version - (is_fault(FAULT_VERSION_TOO_FEW) ? 1 : 0);
}

static bool is_straggler(struct round *round, int cpu)
{
	struct prw_status *status = per_cpu_ptr(round->domain->status, cpu);

	return smp_load_acquire(&status->online) &&	/* pairs with C */
	       smp_load_acquire(&status->seen) < version_awaited(round); /* pairs with C */
}

static bool must_ask(int cpu, void *info)
{
	struct round *round = info;

	if (!is_straggler(round, cpu))
		return false;
	round->asked++;
	return true;
}

static void report_to_writer(void *info)
{
	struct round *round = info;
	struct prw_status *status = this_cpu_ptr(round->domain->status);

	report(round->domain, status);
	if (!uses_slots(round->domain))
		smp_store_release(&status->online, false);	/* C */
}

/* Waits until every online CPU has reported the version. */
static void reach_consensus(struct round *round)
{
	u64 deadline = ktime_get_mono_fast_ns() +
		       (u64)READ_ONCE(patience_us_parameter.value) * NSEC_PER_USEC;
	int cpu;

	count_event(rounds);
	preempt_disable();
	report(round->domain, this_cpu_ptr(round->domain->status));
	preempt_enable();

	for_each_online_cpu(cpu) {
		while (is_straggler(round, cpu)) {
			if (ktime_get_mono_fast_ns() > deadline)
				goto ask;
			cpu_relax();
		}
	}
	count_event(rounds_without_ipi);
	return;

ask:
	if (is_fault(FAULT_NO_IPI))
		return;
	/*
	 * Returns once all of them have reported. A CPU that has gone offline
	 * meanwhile runs nothing, and its holds were converted before that; one
	 * that comes online later starts with the present values.
	 */
	on_each_cpu_cond_mask(must_ask, report_to_writer, round, true, cpu_online_mask);
	count_events(ipis, round->asked);
}

/* Whether passive or converted readers are inside, apart from @own. */
static bool readers_inside(struct prwlock *lock, struct round *round, int own)
{
	struct prw_domain *domain = round->domain;
	int cpu, i;

	/* Without a consensus since it was last drained, no passive reader is inside. */
	if (!lock->draining)
		return atomic_read(&lock->converted) > own;

	for_each_online_cpu(cpu) {
		struct prw_status *status = per_cpu_ptr(domain->status, cpu);
		struct prw_slots *slots = per_cpu_ptr(&prw_slots, cpu);

		if (!smp_load_acquire(&status->online))	/* pairs with C */
			continue;
		if (is_fault(FAULT_NO_IPI) && is_straggler(round, cpu))
			continue;
		for (i = 0; i < PRW_SLOTS; i++) {
			/*
			 * D. A reader that the consensus has excluded may use a
			 * slot for a moment, after its CPU was quiet.
			 */
			if (smp_load_acquire(&slots->of[i]) == lock &&
			    smp_load_acquire(&status->quiet) < version_awaited(round)) /* C */
				return true;
		}
	}
	return atomic_read(&lock->converted) > own;	/* F */
}

static int wait_until_drained(struct prwlock *lock, struct round *round, int own, int state)
{
	DEFINE_WAIT(wait);
	int ret = 0;
	int spins;

	for (spins = 0; spins < 100; spins++) {
		if (!readers_inside(lock, round, own))
			return 0;
		cpu_relax();
	}
	count_event(drain_sleeps);
	for (;;) {
		prepare_to_wait(&round->domain->drain, &wait, state);
		if (!readers_inside(lock, round, own))
			break;
		if (signal_pending_state(state, current)) {
			ret = -EINTR;
			break;
		}
		schedule();
	}
	finish_wait(&round->domain->drain, &wait);
	return ret;
}

/* Puts a lock that the caller has closed back as it was. */
static void reopen(struct prwlock *lock)
{
	if (lock->revoked && atomic_read(&lock->writers) <= 1) {
		set_bias(lock);
		count_event(biases_restored);
	}
}

/*
 * Makes sure that no reader is inside, besides @own converted holds of the
 * caller, which holds the semaphore for writing. @state: in which to wait, or
 * TASK_RUNNING for one attempt.
 */
static int expel_readers(struct prwlock *lock, int own, int state)
{
	struct round round = { .domain = lock->domain };
	bool was_biased = lock->bias;
	int ret = 0;

	if (was_biased) {
		u64 began = ktime_get_mono_fast_ns();

		WRITE_ONCE(lock->bias, false);
		round.version = atomic64_inc_return(&round.domain->version);	/* B */
		lock->version = round.version;
		lock->draining = true;
		reach_consensus(&round);
		count_event(revocations);
		lock->revoked = began - lock->biased_at >=
				(ktime_get_mono_fast_ns() - began) *
				READ_ONCE(bias_worth_parameter.value);
	} else {
		/* If the writer that took the bias away gave up, holds may still be in slots. */
		round.version = lock->version;
		count_event(writes_unbiased);
	}
	if (state != TASK_RUNNING)
		ret = wait_until_drained(lock, &round, own, state);
	else if (readers_inside(lock, &round, own))
		ret = -EBUSY;
	if (!ret) {
		lock->draining = false;
	} else {
		count_event(backouts);
		if (was_biased)
			lock->revoked = true;
		reopen(lock);
	}
	return ret;
}

/* Lets others in; nothing is left to undo. */
static void release_write(struct prwlock *lock)
{
	bool wakes = prw_writer_leaves(lock);

	up_write(&lock->sem);
	if (unlikely(wakes))
		prw_wake_parked();
}

static int acquire_write(struct prwlock *lock, int subclass, int state)
{
	int ret = 0;

	might_sleep();
	atomic_inc(&lock->writers);
	if (state == TASK_KILLABLE)
		ret = down_write_killable_nested(&lock->sem, subclass);
	else
		down_write_nested(&lock->sem, subclass);
	if (!ret) {
		if (lock->revoked && !lock->bias)
			count_event(handoffs);
		prw_writer_enters(lock);
		ret = expel_readers(lock, 0, state);
		if (ret)
			release_write(lock);
	} else {
		atomic_dec(&lock->writers);
	}
	return ret;
}

/* --- The API ----------------------------------------------------------- */

void __prwlock_init(struct prwlock *lock, struct prw_domain *domain,
		    const char *name, struct lock_class_key *key)
{
	memset(lock, 0, sizeof(*lock));
	lock->domain = domain;
	__init_rwsem(&lock->sem, name, key);
#ifdef CONFIG_RWSEM_BRAVO
	rwsem_never_biased(&lock->sem);
#endif
	atomic_inc(&domain->locks);
}
EXPORT_SYMBOL_GPL(__prwlock_init);

/**
 * prwlock_destroy() - end the use of a lock
 * @lock: initialised by prwlock_init() or prwlock_init_domain(), and free
 *
 * The memory may be reused at once. A lock of DEFINE_PRWLOCK() is not destroyed.
 */
void prwlock_destroy(struct prwlock *lock)
{
	READMOST_WARN_ON(rwsem_is_locked(&lock->sem) || atomic_read(&lock->converted));
	/* No hold can be in a slot now, unless the lock is destroyed while held. */
	atomic_dec(&lock->domain->locks);
}
EXPORT_SYMBOL_GPL(prwlock_destroy);

static __always_inline int acquire_read(struct prwlock *lock, int subclass, int state,
				     unsigned long ip)
{
	might_sleep();
	READMOST_WARN_ON(!in_task());
	if (unlikely(!read_passively(lock)))
		return read_actively(lock, subclass, state, ip);
	rwsem_acquire_read(&lock->sem.dep_map, subclass, 0, ip);
	return 0;
}

/**
 * prw_read_lock() - acquire a lock for reading
 * @lock: the lock
 *
 * Sleeps while a writer holds the lock or waits for it. Without a writer, a
 * biased lock is acquired without an atomic instruction, a fence, or a write to
 * a shared cache line. The caller may sleep while it holds the lock.
 */
void prw_read_lock(struct prwlock *lock)
{
	acquire_read(lock, 0, TASK_UNINTERRUPTIBLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(prw_read_lock);

/**
 * prw_read_lock_interruptible() - prw_read_lock() that a signal ends
 * @lock: the lock
 *
 * Return: 0, or -EINTR if a signal came first; then the lock is not held.
 */
int prw_read_lock_interruptible(struct prwlock *lock)
{
	return acquire_read(lock, 0, TASK_INTERRUPTIBLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(prw_read_lock_interruptible);

/**
 * prw_read_lock_killable() - prw_read_lock() that a fatal signal ends
 * @lock: the lock
 *
 * Return: 0, or -EINTR if a fatal signal came first; then the lock is not held.
 */
int prw_read_lock_killable(struct prwlock *lock)
{
	return acquire_read(lock, 0, TASK_KILLABLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(prw_read_lock_killable);

/**
 * prw_read_trylock() - acquire a lock for reading if no writer is in the way
 * @lock: the lock
 *
 * Does not sleep. Process context only, unlike down_read_trylock().
 *
 * Return: whether the caller holds the lock now.
 */
bool prw_read_trylock(struct prwlock *lock)
{
	READMOST_WARN_ON(!in_task());
	if (unlikely(!read_passively(lock)) && !read_passively_again(lock)) {
		if (!down_read_trylock(&lock->sem))
			return false;
		earn_bias(lock);
		return true;
	}
	rwsem_acquire_read(&lock->sem.dep_map, 0, 1, _RET_IP_);
	return true;
}
EXPORT_SYMBOL_GPL(prw_read_trylock);

/**
 * prw_read_unlock() - release a lock that the caller holds for reading
 * @lock: the lock; its memory may be gone when this returns, if a writer frees it
 */
void prw_read_unlock(struct prwlock *lock)
{
	rwsem_release(&lock->sem.dep_map, _RET_IP_);
	if (unlikely(!read_unlock_passively(lock)))
		read_unlock_actively(lock);
}
EXPORT_SYMBOL_GPL(prw_read_unlock);

/**
 * prw_write_lock() - acquire a lock for writing
 * @lock: the lock
 *
 * Sleeps until nobody else holds it. New readers wait meanwhile. A biased lock
 * costs a round of consensus, which waits patience_us for the reports of the
 * CPUs that have readers, then interrupts those that have not reported.
 */
void prw_write_lock(struct prwlock *lock)
{
	acquire_write(lock, 0, TASK_UNINTERRUPTIBLE);
}
EXPORT_SYMBOL_GPL(prw_write_lock);

/**
 * prw_write_lock_killable() - prw_write_lock() that a fatal signal ends
 * @lock: the lock
 *
 * Return: 0, or -EINTR if a fatal signal came first; then the lock is not held.
 */
int prw_write_lock_killable(struct prwlock *lock)
{
	return acquire_write(lock, 0, TASK_KILLABLE);
}
EXPORT_SYMBOL_GPL(prw_write_lock_killable);

#ifdef CONFIG_DEBUG_LOCK_ALLOC
void prw_read_lock_nested(struct prwlock *lock, int subclass)
{
	acquire_read(lock, subclass, TASK_UNINTERRUPTIBLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(prw_read_lock_nested);

void prw_write_lock_nested(struct prwlock *lock, int subclass)
{
	acquire_write(lock, subclass, TASK_UNINTERRUPTIBLE);
}
EXPORT_SYMBOL_GPL(prw_write_lock_nested);

int prw_write_lock_killable_nested(struct prwlock *lock, int subclass)
{
	return acquire_write(lock, subclass, TASK_KILLABLE);
}
EXPORT_SYMBOL_GPL(prw_write_lock_killable_nested);
#endif

/**
 * prw_write_trylock() - acquire a lock for writing if nobody holds it
 * @lock: the lock
 *
 * Does not sleep, but a biased lock costs a round of consensus even if the
 * attempt fails. With interrupts disabled a biased lock cannot be acquired.
 *
 * Return: whether the caller holds the lock now.
 */
bool prw_write_trylock(struct prwlock *lock)
{
	if (!down_write_trylock(&lock->sem))
		return false;
	atomic_inc(&lock->writers);
	prw_writer_enters(lock);
	if ((irqs_disabled() && lock->bias) || expel_readers(lock, 0, TASK_RUNNING)) {
		release_write(lock);
		return false;
	}
	return true;
}
EXPORT_SYMBOL_GPL(prw_write_trylock);

/**
 * prw_write_unlock() - release a lock that the caller holds for writing
 * @lock: the lock
 *
 * If another writer waits, the lock stays without bias, so that the next
 * one needs no consensus.
 */
void prw_write_unlock(struct prwlock *lock)
{
	WRITE_ONCE(lock->reads, 0);
	reopen(lock);
	release_write(lock);
}
EXPORT_SYMBOL_GPL(prw_write_unlock);

/**
 * prw_downgrade() - turn the caller's write hold into a read hold
 * @lock: the lock
 *
 * No writer comes in between; waiting readers are let in.
 */
void prw_downgrade(struct prwlock *lock)
{
	bool wakes;

	WRITE_ONCE(lock->reads, 0);
	reopen(lock);
	wakes = prw_writer_leaves(lock);
	downgrade_write(&lock->sem);
	if (unlikely(wakes))
		prw_wake_parked();
}
EXPORT_SYMBOL_GPL(prw_downgrade);

/* Makes sure that the caller's read hold is a converted one, if that can be told. */
static void convert_own_hold(struct prwlock *lock)
{
	struct prw_slots *slots;
	struct prwlock **slot;

	preempt_disable();
	slots = this_cpu_ptr(&prw_slots);
	slot = slots->of[0] == lock ? &slots->of[0] : slot_of(slots, lock);
	if (slot) {
		atomic_inc(&lock->converted);
		clear_slot(slot, lock->domain);
	}
	preempt_enable();
	if (!slot && !atomic_read(&lock->converted)) {
		atomic_inc(&lock->converted);
		up_read_non_owner(&lock->sem);
	}
}

/**
 * prw_try_upgrade() - turn the caller's read hold into a write hold
 * @lock: the lock, which the caller holds for reading
 *
 * Sleeps until the other passive and converted readers have left. Fails at once
 * if a writer or another upgrader is there, and may fail if other active readers
 * are.
 *
 * Return: true if the caller now holds the lock for writing, and nobody wrote
 * since it acquired it for reading; false if it holds it for reading as before.
 */
bool prw_try_upgrade(struct prwlock *lock)
{
	might_sleep();
	convert_own_hold(lock);
	/* For lockdep, which would see the lock held twice, one hold ends before the other begins. */
	rwsem_release(&lock->sem.dep_map, _RET_IP_);
	if (!down_write_trylock(&lock->sem)) {
		rwsem_acquire_read(&lock->sem.dep_map, 0, 1, _RET_IP_);
		count_event(upgrades_failed);
		return false;
	}
	atomic_inc(&lock->writers);
	prw_writer_enters(lock);
	expel_readers(lock, 1, TASK_UNINTERRUPTIBLE);
	atomic_dec(&lock->converted);
	count_event(upgrades);
	return true;
}
EXPORT_SYMBOL_GPL(prw_try_upgrade);

/* Whether a passive reader of the lock is on some CPU. */
static bool is_in_slot(struct prwlock *lock)
{
	int cpu, i;

	for_each_online_cpu(cpu) {
		for (i = 0; i < PRW_SLOTS; i++) {
			if (READ_ONCE(per_cpu(prw_slots, cpu).of[i]) == lock)
				return true;
		}
	}
	return false;
}

/**
 * prw_is_locked() - whether somebody holds a lock
 * @lock: the lock
 *
 * Looks at the slots of all CPUs: for assertions.
 *
 * Return: true if the caller holds it, or somebody else during the whole call.
 */
bool prw_is_locked(struct prwlock *lock)
{
	bool held;

	/* The caller stays on its CPU, where its slot is. */
	preempt_disable();
	held = is_in_slot(lock);
	preempt_enable();
	/*
	 * A hold moves from a slot to the count, and an unlock that takes another
	 * reader's place in the count leaves that one in the semaphore: never back.
	 */
	smp_rmb();	/* pairs with E */
	held = held || atomic_read(&lock->converted) > 0;
	smp_rmb();
	return held || rwsem_is_locked(&lock->sem);
}
EXPORT_SYMBOL_GPL(prw_is_locked);

/**
 * prw_is_contended() - whether somebody waits for a lock
 * @lock: the lock, which the caller holds
 *
 * Return: true if writers or readers wait.
 */
bool prw_is_contended(struct prwlock *lock)
{
	/* A hint: the caller needs no order. */
	return rwsem_is_contended(&lock->sem) || waitqueue_active(&lock->domain->drain) ||
	       prw_is_parked_for(lock);
}
EXPORT_SYMBOL_GPL(prw_is_contended);

/**
 * prw_imbalances() - read unlocks so far of locks that nobody had read-locked
 *
 * Each is a bug of a caller; the first is also in the log.
 */
u64 prw_imbalances(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(readmost_statistics, cpu).imbalances;
	return sum;
}
EXPORT_SYMBOL_GPL(prw_imbalances);

/* --- Domains ----------------------------------------------------------- */

/**
 * prw_domain_create() - create a domain for locks that are used by the same tasks
 * @name: shown in debugfs; must outlive the domain
 *
 * The writers of a domain wait only for CPUs that ran readers of its locks.
 *
 * Return: the domain, or NULL if there is no memory.
 */
struct prw_domain *prw_domain_create(const char *name)
{
	struct prw_domain *domain = kzalloc(sizeof(*domain), GFP_KERNEL);

	if (!domain)
		return NULL;
	domain->status = alloc_percpu_gfp(struct prw_status, GFP_KERNEL | __GFP_ZERO);
	if (!domain->status) {
		kfree(domain);
		return NULL;
	}
	atomic64_set(&domain->version, 1);
	init_waitqueue_head(&domain->drain);
	domain->name = name;
	mutex_lock(&prw_domains_lock);
	list_add_tail(&domain->entry, &prw_domains);
	mutex_unlock(&prw_domains_lock);
	return domain;
}
EXPORT_SYMBOL_GPL(prw_domain_create);

/**
 * prw_domain_destroy() - free a domain
 * @domain: from prw_domain_create()
 *
 * Return: 0, or -EBUSY if locks of the domain have not been destroyed.
 */
int prw_domain_destroy(struct prw_domain *domain)
{
	if (WARN_ON_ONCE(domain == &prw_default_domain || atomic_read(&domain->locks)))
		return -EBUSY;
	mutex_lock(&prw_domains_lock);
	list_del(&domain->entry);
	mutex_unlock(&prw_domains_lock);
	/* A reader or a switch that has just cleared a slot still looks at the domain. */
	synchronize_rcu();
	if (is_fault(FAULT_DOMAIN_LEAKS))
		return 0;
	free_percpu(domain->status);
	kfree(domain);
	return 0;
}
EXPORT_SYMBOL_GPL(prw_domain_destroy);
