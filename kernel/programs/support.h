/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/*
 * What the programs that load mmap_lock share: threads, memory, and the line in
 * which each reports what it did. They end with status 1 if memory did not
 * contain what they had written to it.
 */
#ifndef READMOST_PROGRAMS_SUPPORT_H
#define READMOST_PROGRAMS_SUPPORT_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE		4096UL
#define MAX_THREADS	64

static unsigned int threads, rounds;

static inline void fail(const char *what, unsigned long where)
{
	printf("FAIL: %s, at %lu\n", what, where);
	fflush(stdout);
	_exit(1);
}

static inline void must(bool condition, const char *call)
{
	if (condition)
		return;
	printf("FAIL: %s: %s\n", call, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* A number from @text, or the end of the program. */
static inline unsigned int number(const char *name, const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < 1 || value > most) {
		fprintf(stderr, "%s: '%s' is not a number from 1 to %lu\n", name, text, most);
		exit(2);
	}
	return value;
}

static inline void take_arguments(char **arguments)
{
	threads = number("threads", arguments[0], MAX_THREADS);
	rounds = number("rounds", arguments[1], 1000000);
}

/* The same of a program that takes no others, or the end of it. */
static inline void take_only_arguments(const char *name, int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s THREADS ROUNDS\n", name);
		exit(2);
	}
	take_arguments(argv + 1);
}

static inline void *map_pages(size_t pages)
{
	void *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	return memory;
}

static inline void unmap_pages(void *memory, size_t pages)
{
	must(munmap(memory, pages * PAGE) == 0, "munmap");
}

/* The pseudo-random sequence of a seed. */
static inline uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Runs body(0) to body(threads - 1), and returns the sum of what they did. */
static inline unsigned long run_threads(void *(*body)(void *))
{
	pthread_t handles[MAX_THREADS];
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < threads; i++)
		must(!pthread_create(&handles[i], NULL, body, (void *)(uintptr_t)i),
		     "pthread_create");
	for (i = 0; i < threads; i++) {
		void *done;

		must(!pthread_join(handles[i], &done), "pthread_join");
		sum += (uintptr_t)done;
	}
	return sum;
}

static inline void report(const char *name, unsigned long operations)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("program: %s threads=%u operations=%lu faults=%ld switches=%ld\n", name, threads,
	       operations, own.ru_minflt + children.ru_minflt,
	       own.ru_nvcsw + own.ru_nivcsw + children.ru_nvcsw + children.ru_nivcsw);
}

#endif /* READMOST_PROGRAMS_SUPPORT_H */
