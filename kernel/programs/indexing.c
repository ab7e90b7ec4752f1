// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Indexes documents: indexing THREADS ROUNDS
 *
 * The access pattern of Psearchy: each thread maps small documents one after
 * another, notes which word occurs in which document in a table of its own, and
 * replaces the table when it is full. With 15 pages to a mapping there is about
 * one write of mmap_lock to 15 faults.
 */
#include "support.h"

#include <fcntl.h>

#define DOCUMENTS	64U
#define DOCUMENT	(4 * PAGE / sizeof(uint32_t))	/* words in one */
#define DISTINCT	509U
#define TABLE		15UL				/* pages */
#define POSTINGS	(TABLE * PAGE / sizeof(struct posting))

struct posting {
	uint32_t word;
	uint32_t document;
};

static uint64_t expected[DISTINCT], flushed[DISTINCT];
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static int file;

/* For each word the sum over documents, numbered from 1, is what can be checked. */
static void flush_table(struct posting *table, unsigned long used)
{
	unsigned long i;

	pthread_mutex_lock(&flushing);
	for (i = 0; i < used; i++) {
		if (table[i].word >= DISTINCT || table[i].document >= DOCUMENTS)
			fail("a posting is damaged", i);
		flushed[table[i].word] += table[i].document + 1;
	}
	pthread_mutex_unlock(&flushing);
	unmap_pages(table, TABLE);
}

static void *body(void *argument)
{
	unsigned int me = (uintptr_t)argument;
	unsigned int document, i, round;
	struct posting *table = map_pages(TABLE);
	unsigned long used = 0, done = 0;

	for (round = 0; round < rounds; round++) {
		for (document = me; document < DOCUMENTS; document += threads) {
			uint32_t *words = mmap(NULL, DOCUMENT * sizeof(*words), PROT_READ,
					       MAP_PRIVATE, file,
					       document * DOCUMENT * sizeof(*words));

			must(words != MAP_FAILED, "mmap");
			for (i = 0; i < DOCUMENT; i++) {
				if (used == POSTINGS) {
					flush_table(table, used);
					table = map_pages(TABLE);
					used = 0;
				}
				table[used++] = (struct posting){ words[i], document };
			}
			must(!munmap(words, DOCUMENT * sizeof(*words)), "munmap");
			done += DOCUMENT;
		}
	}
	flush_table(table, used);
	return (void *)done;
}

int main(int argc, char **argv)
{
	static uint32_t words[DOCUMENT];
	uint32_t random = 3;
	unsigned long operations;
	unsigned int document, i;

	take_only_arguments("indexing", argc, argv);
	file = open("/tmp/documents", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file >= 0, "open /tmp/documents");
	unlink("/tmp/documents");
	for (document = 0; document < DOCUMENTS; document++) {
		for (i = 0; i < DOCUMENT; i++) {
			words[i] = next_random(&random) % DISTINCT;
			expected[words[i]] += (uint64_t)rounds * (document + 1);
		}
		must(write(file, words, sizeof(words)) == sizeof(words), "write /tmp/documents");
	}
	operations = run_threads(body);
	for (i = 0; i < DISTINCT; i++) {
		if (flushed[i] != expected[i])
			fail("a word was indexed wrongly", i);
	}
	report("indexing", operations);
	return 0;
}
