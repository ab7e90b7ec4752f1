// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Misuses prwlock and FCP-RCU once, while the module is loaded: a kernel with
 * lockdep, PROVE_RCU and DEBUG_ATOMIC_SLEEP must complain. The kernel is not to
 * be used afterwards.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include "fcp_rcu.h"
#include "prwlock.h"

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "which misuse, of those that misuse.c lists");

static DEFINE_PRWLOCK(first);
static DEFINE_PRWLOCK(second);

static int value;
static int __rcu *published = (int __rcu *)&value;

/* Makes the readers of a lock passive. */
static void earn_bias(struct prwlock *lock)
{
	int i;

	for (i = 0; i < 64; i++) {
		prw_read_lock(lock);
		prw_read_unlock(lock);
	}
}

static void invert_reader(void)
{
	earn_bias(&first);
	prw_read_lock(&first);
	prw_write_lock(&second);
	prw_write_unlock(&second);
	prw_read_unlock(&first);
	earn_bias(&first);
	prw_write_lock(&second);
	prw_read_lock(&first);
	prw_read_unlock(&first);
	prw_write_unlock(&second);
}

static void read_twice(void)
{
	earn_bias(&first);
	prw_read_lock(&first);
	prw_read_lock(&first);
	prw_read_unlock(&first);
	prw_read_unlock(&first);
}

static void unlock_unlocked(void)
{
	earn_bias(&first);
	prw_read_unlock(&first);
}

static void assert_unheld(void)
{
	earn_bias(&first);
	prw_assert_held(&first);
}

static void assert_write_while_reading(void)
{
	earn_bias(&first);
	prw_read_lock(&first);
	prw_assert_held_write(&first);
	prw_read_unlock(&first);
}

static void lock_in_atomic(void)
{
	earn_bias(&first);
	preempt_disable();
	prw_read_lock(&first);
	prw_read_unlock(&first);
	preempt_enable();
}

static void dereference_outside(void)
{
	int *seen = fcp_rcu_dereference(published);

	pr_info("readmost_misuse: a value of %d\n", *seen);
}

static const struct {
	const char *name;
	void (*run)(void);
} misuses[] = {
	{ "invert_reader", invert_reader },
	{ "read_twice", read_twice },
	{ "unlock_unlocked", unlock_unlocked },
	{ "assert_unheld", assert_unheld },
	{ "assert_write_while_reading", assert_write_while_reading },
	{ "lock_in_atomic", lock_in_atomic },
	{ "dereference_outside", dereference_outside },
};

static int __init misuse_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(misuses); i++) {
		if (!strcmp(misuses[i].name, what)) {
			misuses[i].run();
			return 0;
		}
	}
	pr_err("readmost_misuse: parameter what: '%s' is unknown\n", what);
	return -EINVAL;
}

static void __exit misuse_exit(void)
{
}

module_init(misuse_init);
module_exit(misuse_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Misuses Readmost, for kernels that check");
