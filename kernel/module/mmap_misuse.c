// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Misuses mmap_lock once, while the module is loaded: a kernel with lockdep must
 * complain in the same words whether mmap_lock is a semaphore or a prwlock. The
 * kernel is not to be used afterwards, except after "nested", which is allowed.
 */
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/lockdep.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/string.h>

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "which misuse, of those that mmap_misuse.c lists");

static DEFINE_MUTEX(mutex);

/* Makes the readers of a prwlock passive; what this says if they are not, no misuse expects. */
static void earn_bias(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < 64; i++) {
		mmap_read_lock(mm);
		mmap_read_unlock(mm);
	}
	if (static_branch_unlikely(&mmap_prwlock_on) && !READ_ONCE(mm->mmap_prwlock.bias))
		pr_warn("readmost_mmap_misuse: WARNING: the readers are not passive\n");
}

/* Of process 1. */
static struct mm_struct *other_mm(void)
{
	struct pid *pid = find_get_pid(1);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	struct mm_struct *mm = task ? get_task_mm(task) : NULL;

	if (task)
		put_task_struct(task);
	put_pid(pid);
	return mm;
}

static void invert(struct mm_struct *mm)
{
	mutex_lock(&mutex);
	mmap_write_lock(mm);
	mmap_write_unlock(mm);
	mutex_unlock(&mutex);
	earn_bias(mm);
	mmap_read_lock(mm);
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	mmap_read_unlock(mm);
}

static void read_twice(struct mm_struct *mm)
{
	earn_bias(mm);
	mmap_read_lock(mm);
	mmap_read_lock(mm);
	mmap_read_unlock(mm);
	mmap_read_unlock(mm);
}

static void unlock_unlocked(struct mm_struct *mm)
{
	earn_bias(mm);
	mmap_read_lock(mm);
	mmap_read_unlock(mm);
	mmap_read_unlock(mm);
}

/*
 * As mmap_assert_locked() asks, which also stops the kernel if nobody holds the
 * lock, by a function that modules may not call.
 */
static void assert_unheld(struct mm_struct *mm)
{
	earn_bias(mm);
	lockdep_assert_held(&mm->mmap_lock);
}

static void assert_write_while_reading(struct mm_struct *mm)
{
	earn_bias(mm);
	mmap_read_lock(mm);
	lockdep_assert_held_write(&mm->mmap_lock);
	mmap_read_unlock(mm);
}

static void lock_two(struct mm_struct *mm, bool nested)
{
	struct mm_struct *other = other_mm();

	if (!other)
		return;
	mmap_write_lock(mm);
	if (nested)
		mmap_write_lock_nested(other, SINGLE_DEPTH_NESTING);
	else
		mmap_write_lock(other);
	mmap_write_unlock(other);
	mmap_write_unlock(mm);
	mmput(other);
}

static void two(struct mm_struct *mm)
{
	lock_two(mm, false);
}

/* Allowed, as all of this is: nothing may be reported. */
static void nested(struct mm_struct *mm)
{
	earn_bias(mm);
	lock_two(mm, true);
	mmap_read_lock(mm);
	lockdep_assert_held(&mm->mmap_lock);
	mmap_read_unlock(mm);
	mmap_write_lock(mm);
	lockdep_assert_held_write(&mm->mmap_lock);
	mmap_write_downgrade(mm);
	lockdep_assert_held(&mm->mmap_lock);
	mmap_read_unlock(mm);
	if (mmap_read_trylock(mm)) {
		lockdep_assert_held(&mm->mmap_lock);
		mmap_read_unlock(mm);
	}
}

static const struct {
	const char *name;
	void (*run)(struct mm_struct *mm);
} misuses[] = {
	{ "invert", invert },
	{ "read_twice", read_twice },
	{ "unlock_unlocked", unlock_unlocked },
	{ "assert_unheld", assert_unheld },
	{ "assert_write_while_reading", assert_write_while_reading },
	{ "two", two },
	{ "nested", nested },
};

static int __init mmap_misuse_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(misuses); i++) {
		if (!strcmp(misuses[i].name, what)) {
			misuses[i].run(current->mm);
			return 0;
		}
	}
	pr_err("readmost_mmap_misuse: parameter what: '%s' is unknown\n", what);
	return -EINVAL;
}

static void __exit mmap_misuse_exit(void)
{
}

module_init(mmap_misuse_init);
module_exit(mmap_misuse_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Readmost maintainers");
MODULE_DESCRIPTION("Misuses mmap_lock, for kernels that check");
