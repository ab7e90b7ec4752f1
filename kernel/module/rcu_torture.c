// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Tortures FCP-RCU. Writers replace an object and age
 * the old one after each grace period; readers note the age of what they see. An
 * object is of age 1 once it was replaced, and 2 once a grace period has ended
 * after that: no reader may ever see age 2. Its payload is freed then, for kernels
 * that notice a use of freed memory.
 *
 * The test runs while the module is loaded, and its verdict is one line in the
 * log. If threads hang, the module stays loaded with them.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "fcp_rcu.h"
#include "prwlock.h"
#include "torture.h"

static unsigned int readers;
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "reader threads (default: three for two CPUs)");

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long (default 10)");

static unsigned int stall_seconds = 20;
module_param(stall_seconds, uint, 0444);
MODULE_PARM_DESC(stall_seconds, "without a grace period for so long, it is stuck (default 20)");

static bool hotplug;
module_param(hotplug, bool, 0444);
MODULE_PARM_DESC(hotplug, "take CPUs offline and online (default no)");

static bool churn = true;
module_param(churn, bool, 0444);
MODULE_PARM_DESC(churn, "end readers and start others (default yes)");

#define OBJECTS	256
#define AGES	3	/* after which an object is used again */
#define WRITERS	4	/* each has its own way to wait */

struct object {
	int age;
	u64 serial;
	u64 check;	/* ~serial while the object is published or awaits its grace periods */
	u64 *payload;	/* the serial once more, in memory that the first grace period frees */
	u64 cookie;
	struct object *next;
	struct rcu_head head;
};

static struct object objects[OBJECTS];
static struct object *free_objects;
static DEFINE_SPINLOCK(free_lock);
static struct object __rcu *published;

struct reader {
	struct task_struct *task;
	struct rnd_state random;
	u64 sections;
	u64 sleeps;
	u64 age[AGES + 2];
} ____cacheline_aligned_in_smp;

static struct reader *all_readers;
static struct task_struct *writers[WRITERS];
static atomic64_t waits[WRITERS];
static atomic64_t callbacks_called, callbacks_invoked, barriers_wrong;
static atomic64_t torn;
static atomic64_t serials;

/* --- Objects ----------------------------------------------------------- */

static void free_object(struct object *object)
{
	WRITE_ONCE(object->check, 0);
	spin_lock(&free_lock);
	object->next = free_objects;
	free_objects = object;
	spin_unlock(&free_lock);
}

static struct object *take_object(void)
{
	struct object *object;
	u64 *payload;

	spin_lock(&free_lock);
	object = free_objects;
	if (object)
		free_objects = object->next;
	spin_unlock(&free_lock);
	if (!object)
		return NULL;
	payload = kmalloc(sizeof(*payload), GFP_KERNEL);
	if (!payload) {
		free_object(object);
		return NULL;
	}
	object->serial = atomic64_inc_return(&serials);
	object->check = ~object->serial;
	*payload = object->serial;
	object->payload = payload;
	WRITE_ONCE(object->age, 0);
	return object;
}

/* After a grace period. Returns whether the object is free now. */
static bool grow_older(struct object *object)
{
	WRITE_ONCE(object->age, object->age + 1);
	if (object->age == 2)
		kfree(object->payload);
	if (object->age <= AGES)
		return false;
	free_object(object);
	return true;
}

static struct object *replace_published(void)
{
	struct object *fresh = take_object();
	struct object *old;

	if (!fresh)
		return NULL;
	old = (struct object *)xchg((__force struct object **)&published, fresh);
	if (old)
		WRITE_ONCE(old->age, 1);
	return old;
}

/* --- Readers ----------------------------------------------------------- */

static u32 random(struct reader *self, u32 below)
{
	return prandom_u32_state(&self->random) % below;
}

static void look_at(struct reader *self, struct object *object)
{
	int age = READ_ONCE(object->age);

	self->age[clamp(age, 0, AGES + 1)]++;
	if (READ_ONCE(object->check) != ~READ_ONCE(object->serial) ||
	    READ_ONCE(*READ_ONCE(object->payload)) != READ_ONCE(object->serial))
		atomic64_inc(&torn);
}

static void read_once(struct reader *self)
{
	struct fcp_rcu_reader outer, inner;
	struct object *object;
	u32 how = random(self, 256);

	fcp_rcu_read_lock(&outer);
	object = fcp_rcu_dereference(published);
	if (how < 8)
		fcp_rcu_read_lock(&inner);
	if (object) {
		if (how == 0) {
			schedule_timeout_uninterruptible(1);
			self->sleeps++;
		} else if (how == 1) {
			usleep_range(20, 200);
			self->sleeps++;
		} else if (how == 2 || how == 64) {
			yield();
		} else if (how == 3 || how == 65) {
			udelay(random(self, 50));
		} else if (how >= 252) {
			/* A long section that is not interrupted. */
			for (how = 10 + random(self, 200); how > 10; how--)
				udelay(10);
		} else if (how == 4) {
			set_cpus_allowed_ptr(current, cpumask_of(cpumask_any(cpu_online_mask)));
			set_cpus_allowed_ptr(current, cpu_possible_mask);
		}
		look_at(self, object);
	}
	if (how < 4) {
		/* Sections may overlap: the inner one goes on without the outer. */
		fcp_rcu_read_unlock(&outer);
		if (object)
			look_at(self, object);
		fcp_rcu_read_unlock(&inner);
	} else {
		if (how < 8)
			fcp_rcu_read_unlock(&inner);
		fcp_rcu_read_unlock(&outer);
	}
	self->sections++;
}

static int reader(void *data)
{
	struct reader *self = data;
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 64; i++)
			read_once(self);
		if (!random(self, 16))
			usleep_range(500, 2000);
		cond_resched();
	}
	return 0;
}

/* --- Writers ----------------------------------------------------------- */

static void age_by_callback(struct rcu_head *head)
{
	struct object *object = container_of(head, struct object, head);

	atomic64_inc(&callbacks_invoked);
	atomic64_inc(&waits[2]);
	if (!grow_older(object)) {
		atomic64_inc(&callbacks_called);
		fcp_rcu_call(head, age_by_callback);
	}
}

static atomic_t before_barrier;

static void note_invoked(struct rcu_head *head)
{
	atomic_dec(&before_barrier);
}

static void try_barrier(void)
{
	static struct rcu_head heads[4];
	int i;

	atomic_set(&before_barrier, ARRAY_SIZE(heads));
	for (i = 0; i < ARRAY_SIZE(heads); i++)
		fcp_rcu_call(&heads[i], note_invoked);
	fcp_rcu_barrier();
	if (atomic_read(&before_barrier))
		atomic64_inc(&barriers_wrong);
}

static void age_by_polling(struct object *object)
{
	do {
		u64 cookie = fcp_rcu_start_poll();
		unsigned long end = jiffies + HZ / 4;

		while (!fcp_rcu_poll_state(cookie) && time_before(jiffies, end))
			usleep_range(100, 500);
		fcp_rcu_cond_synchronize(cookie);
		atomic64_inc(&waits[3]);
	} while (!grow_older(object));
}

static int writer(void *data)
{
	long way = (long)data;

	while (!kthread_should_stop()) {
		struct object *old = replace_published();

		if (!old) {
			msleep(20);
			continue;
		}
		switch (way) {
		case 0:
			do {
				fcp_rcu_synchronize();
				atomic64_inc(&waits[0]);
			} while (!grow_older(old));
			break;
		case 1:
			do {
				fcp_rcu_synchronize_expedited();
				atomic64_inc(&waits[1]);
			} while (!grow_older(old));
			break;
		case 2:
			atomic64_inc(&callbacks_called);
			fcp_rcu_call(&old->head, age_by_callback);
			usleep_range(1000, 5000);
			if (atomic64_read(&callbacks_called) % 16 == 0)
				try_barrier();
			break;
		default:
			age_by_polling(old);
		}
		/* A grace period may have found that everybody had reported, and not slept. */
		cond_resched();
	}
	return 0;
}

/* --- The run ----------------------------------------------------------- */

/* Often ends the grace period that the reclaimer was woken for, which must still take work later. */
static void outrun_reclaimer(void)
{
	int i;

	for (i = 0; i < 2000; i++) {
		fcp_rcu_start_poll();
		fcp_rcu_synchronize_expedited();
	}
	fcp_rcu_barrier();
}

static u64 seen_at_age(int from, int to)
{
	u64 sum = 0;
	unsigned int i;
	int age;

	for (i = 0; i < readers; i++) {
		for (age = from; age <= to; age++)
			sum += READ_ONCE(all_readers[i].age[age]);
	}
	return sum;
}

static const char *run(void)
{
	unsigned long end = jiffies + seconds * HZ;
	u64 last[WRITERS] = {};
	unsigned long at[WRITERS];
	int i;

	for (i = 0; i < WRITERS; i++)
		at[i] = jiffies;
	for (;;) {
		if (seen_at_age(2, AGES + 1) || atomic64_read(&torn))
			return "FAIL: reclaimed too early";
		if (atomic64_read(&barriers_wrong))
			return "FAIL: barrier returned early";
		if (prw_imbalances())
			return "FAIL: unbalanced";
		for (i = 0; i < WRITERS; i++) {
			u64 now = atomic64_read(&waits[i]);

			if (now != last[i])
				at[i] = jiffies;
			last[i] = now;
			if (time_after(jiffies, at[i] + stall_seconds * HZ))
				return "FAIL: grace periods stuck";
		}
		if (time_after(jiffies, end))
			return "PASS";
		msleep(50);
	}
}

static void print_verdict(const char *verdict, unsigned long began)
{
	u64 sections = 0, sleeps = 0;
	unsigned int i;

	for (i = 0; i < readers; i++) {
		sections += all_readers[i].sections;
		sleeps += all_readers[i].sleeps;
	}
	pr_info("readmost_rcu_torture: %s: sections=%llu sleeps=%llu age0=%llu age1=%llu older=%llu torn=%llu grace_periods=%llu synchronize=%llu expedited=%llu callbacks=%llu polled=%llu barriers_wrong=%llu hotplug=%u restarts=%u ms=%u\n",
		verdict, sections, sleeps, seen_at_age(0, 0), seen_at_age(1, 1),
		seen_at_age(2, AGES + 1), atomic64_read(&torn), fcp_rcu_completed(),
		atomic64_read(&waits[0]), atomic64_read(&waits[1]), atomic64_read(&waits[2]),
		atomic64_read(&waits[3]), atomic64_read(&barriers_wrong), hotplug ? torture_hotplugs() : 0,
		churn ? torture_restarts() : 0,
		jiffies_to_msecs(jiffies - began));
}

static int start_reader(unsigned int i)
{
	struct task_struct *task = kthread_run(reader, &all_readers[i], "rcu_reader/%u", i);

	if (IS_ERR(task))
		return PTR_ERR(task);
	all_readers[i].task = task;
	return 0;
}

static void stop_reader(unsigned int i)
{
	if (all_readers[i].task)
		kthread_stop(all_readers[i].task);
	all_readers[i].task = NULL;
}

static int restart_reader(unsigned int i)
{
	stop_reader(i);
	return start_reader(i);
}

static int start(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < readers; i++) {
		prandom_seed_state(&all_readers[i].random, i + 1);
		ret = start_reader(i);
		if (ret)
			return ret;
	}
	for (i = 0; i < WRITERS; i++) {
		struct task_struct *task = kthread_run(writer, (void *)(long)i, "rcu_writer/%u", i);

		if (IS_ERR(task))
			return PTR_ERR(task);
		writers[i] = task;
	}
	ret = churn ? torture_start_churn(readers, restart_reader) : 0;
	return !ret && hotplug ? torture_start_hotplug() : ret;
}

static int __init rcu_torture_init(void)
{
	unsigned long began = jiffies;
	const char *verdict;
	unsigned int i;
	int ret;

	if (!readers)
		readers = max(2u, num_online_cpus() * 3 / 2);
	all_readers = kvcalloc(readers, sizeof(*all_readers), GFP_KERNEL);
	if (!all_readers)
		return -ENOMEM;
	for (i = 0; i < OBJECTS; i++)
		free_object(&objects[i]);

	outrun_reclaimer();
	ret = start();
	verdict = ret ? "FAIL: cannot start" : run();
	torture_stop_hotplug();
	print_verdict(verdict, began);
	if (strcmp(verdict, "PASS") && !ret) {
		/* Threads may be stuck, and use what this module contains. */
		pr_warn("readmost_rcu_torture: stays loaded, since threads may hang\n");
		__module_get(THIS_MODULE);
		return 0;
	}
	for (i = 0; i < WRITERS; i++) {
		if (writers[i])
			kthread_stop(writers[i]);
	}
	torture_stop_churn();
	for (i = 0; i < readers; i++)
		stop_reader(i);
	/* A callback may queue itself again, AGES times. */
	for (i = 0; i <= AGES; i++)
		fcp_rcu_barrier();
	/* The last one was never replaced. */
	if (published)
		kfree(((__force struct object *)published)->payload);
	kvfree(all_readers);
	if (!ret && atomic64_read(&callbacks_called) != atomic64_read(&callbacks_invoked))
		pr_err("readmost_rcu_torture: FAIL: callbacks called=%lld invoked=%lld\n",
		       atomic64_read(&callbacks_called), atomic64_read(&callbacks_invoked));
	return ret;
}

static void __exit rcu_torture_exit(void)
{
}

module_init(rcu_torture_init);
module_exit(rcu_torture_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Torture test of FCP-RCU");
