// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Storms on mmap_lock: storm mmap|fault|fork|exit|mixed|seldom THREADS ROUNDS
 *
 * mmap		each thread maps, protects, moves and unmaps memory of its own
 * fault	each thread drops and faults pages of one mapping
 * fork		each thread forks children that change what they inherited
 * exit		threads and processes with faulting threads come and go
 * mixed	all of them at once, in one process
 * seldom	one thread maps, with pauses; the others ask for the state of pages
 *		and fault some
 */
#include "support.h"

#include <sys/wait.h>

#define BLOCK		16UL	/* pages that a thread maps at once */
#define STRIPE		32UL	/* pages of a thread in the common mapping */

static volatile uint64_t *common;	/* a stripe for each thread */

static uint64_t tag(unsigned int me, unsigned int round, unsigned long page)
{
	return (uint64_t)me << 48 | (uint64_t)round << 16 | page;
}

static volatile uint64_t *word_of(void *memory, unsigned long page)
{
	return (uint64_t *)((char *)memory + page * PAGE);
}

static void check_tags(void *memory, unsigned int me, unsigned int round)
{
	unsigned long page;

	for (page = 0; page < BLOCK; page++) {
		if (*word_of(memory, page) != tag(me, round, page))
			fail("a mapped page has lost what was written", page);
	}
}

static void map_once(unsigned int me, unsigned int round)
{
	void *memory = map_pages(BLOCK);
	unsigned long page;

	for (page = 0; page < BLOCK; page++) {
		if (*word_of(memory, page))
			fail("a new page is not zero", page);
		*word_of(memory, page) = tag(me, round, page);
	}
	must(!mprotect(memory, BLOCK / 2 * PAGE, PROT_READ), "mprotect");
	check_tags(memory, me, round);
	must(!mprotect(memory, BLOCK / 2 * PAGE, PROT_READ | PROT_WRITE), "mprotect");
	memory = mremap(memory, BLOCK * PAGE, 2 * BLOCK * PAGE, MREMAP_MAYMOVE);
	must(memory != MAP_FAILED, "mremap");
	check_tags(memory, me, round);
	if (*word_of(memory, BLOCK))
		fail("a page after mremap is not zero", round);
	unmap_pages(memory, 2 * BLOCK);
}

static void fault_once(unsigned int me, unsigned int round)
{
	volatile uint64_t *mine = common + me * STRIPE * PAGE / sizeof(uint64_t);
	unsigned long page;

	must(!madvise((void *)mine, STRIPE * PAGE, MADV_DONTNEED), "madvise");
	for (page = 0; page < STRIPE; page++) {
		if (*word_of((void *)mine, page))
			fail("a dropped page is not zero", page);
		*word_of((void *)mine, page) = tag(me, round, page);
	}
	for (page = 0; page < STRIPE; page++) {
		if (*word_of((void *)mine, page) != tag(me, round, page))
			fail("a faulted page has lost what was written", page);
	}
}

/* mincore() acquires mmap_lock for reading, and interrupts no other CPU. */
static void look_once(unsigned int me, unsigned int round)
{
	unsigned char resident[STRIPE];
	int i;

	fault_once(me, round);
	for (i = 0; i < 400; i++) {
		must(!mincore((char *)common + me * STRIPE * PAGE, STRIPE * PAGE, resident),
		     "mincore");
		if (!(resident[i % STRIPE] & 1))
			fail("a page in use is not resident", i % STRIPE);
	}
}

static void pause_and_map_once(unsigned int me, unsigned int round)
{
	usleep(20000);
	map_once(me, round);
}

static void await_child(pid_t child)
{
	int status;

	must(waitpid(child, &status, 0) == child, "waitpid");
	if (status)
		fail("a child has failed with status", status);
}

static void fork_once(unsigned int me, unsigned int round)
{
	void *memory = map_pages(BLOCK);
	unsigned long page;
	pid_t child;

	for (page = 0; page < BLOCK; page++)
		*word_of(memory, page) = tag(me, round, page);
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		check_tags(memory, me, round);
		for (page = 0; page < BLOCK; page++)
			*word_of(memory, page) = ~tag(me, round, page);
		map_once(me, round);
		_exit(0);
	}
	await_child(child);
	check_tags(memory, me, round);
	unmap_pages(memory, BLOCK);
}

static void *short_life(void *memory)
{
	unsigned long page;

	for (page = 0; page < BLOCK; page++)
		(*word_of(memory, page))++;
	return NULL;
}

static void *faulting_life(void *memory)
{
	for (;;) {
		madvise(memory, BLOCK * PAGE, MADV_DONTNEED);
		short_life(memory);
	}
	return NULL;
}

static void exit_once(unsigned int me, unsigned int round)
{
	void *memory = map_pages(BLOCK);
	pthread_t thread;
	pid_t child;

	(void)me;
	must(!pthread_create(&thread, NULL, short_life, memory), "pthread_create");
	must(!pthread_join(thread, NULL), "pthread_join");
	if (*word_of(memory, BLOCK - 1) != 1)
		fail("a thread's write is lost", round);
	/* The child ends while its threads fault. */
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		pthread_create(&thread, NULL, faulting_life, map_pages(BLOCK));
		pthread_create(&thread, NULL, faulting_life, map_pages(BLOCK));
		usleep(500);
		_exit(0);
	}
	await_child(child);
	unmap_pages(memory, BLOCK);
}

static const struct storm {
	const char *name;
	void (*once)(unsigned int me, unsigned int round);
} storms[] = {
	{ "mmap", map_once },
	{ "fault", fault_once },
	{ "fork", fork_once },
	{ "exit", exit_once },
};

#define STORMS	(sizeof(storms) / sizeof(storms[0]))

static const struct storm seldom = { "seldom", pause_and_map_once };
static const struct storm look = { "look", look_once };

static const struct storm *chosen;	/* NULL: each thread another one */

static void *body(void *argument)
{
	unsigned int me = (uintptr_t)argument;
	const struct storm *mine = chosen ? chosen : &storms[me % STORMS];
	unsigned int i;

	if (chosen == &seldom && me)
		mine = &look;

	for (i = 1; i <= rounds; i++)
		mine->once(me, i);
	return (void *)(uintptr_t)rounds;
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc == 4) {
		for (i = 0; i < STORMS; i++) {
			if (!strcmp(argv[1], storms[i].name))
				chosen = &storms[i];
		}
		if (!strcmp(argv[1], seldom.name))
			chosen = &seldom;
	}
	if (argc != 4 || (!chosen && strcmp(argv[1], "mixed"))) {
		fprintf(stderr, "usage: storm mmap|fault|fork|exit|mixed|seldom THREADS ROUNDS\n");
		return 2;
	}
	take_arguments(argv + 2);
	common = map_pages(STRIPE * threads);
	report(argv[1], run_threads(body));
	return 0;
}
