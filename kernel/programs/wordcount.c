// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Counts words by map and reduce: wordcount THREADS ROUNDS
 *
 * The access pattern of Metis: threads read a text in memory and store what they
 * find in anonymous memory that they map piece by piece, so most reads of
 * mmap_lock are faults, and its writes get memory for intermediate data.
 */
#include "support.h"

#define WORDS		40000U	/* in the text */
#define DISTINCT	997U
#define PARTS		16U	/* of the reduce phase */
#define PIECE		8UL	/* pages mapped at once */

struct pair {
	uint32_t word;
	uint32_t count;
};

/* Intermediate data of one thread and part: a list of pieces. */
struct piece {
	struct piece *next;
	uint32_t used;
	struct pair pairs[];
};

#define PAIRS_IN_PIECE	((PIECE * PAGE - sizeof(struct piece)) / sizeof(struct pair))

static uint32_t *text;
static uint32_t expected[DISTINCT], counted[DISTINCT];
static struct piece *found[MAX_THREADS][PARTS];

static void emit(struct piece **list, uint32_t word)
{
	struct piece *piece = *list;

	if (!piece || piece->used == PAIRS_IN_PIECE) {
		piece = map_pages(PIECE);
		piece->next = *list;
		*list = piece;
	}
	piece->pairs[piece->used++] = (struct pair){ word, 1 };
}

static void *map_phase(void *argument)
{
	unsigned int me = (uintptr_t)argument;
	unsigned int i, end = (uint64_t)WORDS * (me + 1) / threads;

	for (i = (uint64_t)WORDS * me / threads; i < end; i++)
		emit(&found[me][text[i] % PARTS], text[i]);
	return NULL;
}

static void *reduce_phase(void *argument)
{
	unsigned int me = (uintptr_t)argument;
	unsigned int part, from;
	uintptr_t sum = 0;

	for (part = me; part < PARTS; part += threads) {
		for (from = 0; from < threads; from++) {
			struct piece *piece = found[from][part];

			found[from][part] = NULL;
			while (piece) {
				struct piece *next = piece->next;
				uint32_t i;

				for (i = 0; i < piece->used; i++) {
					if (piece->pairs[i].word >= DISTINCT)
						fail("intermediate data is damaged", i);
					counted[piece->pairs[i].word] += piece->pairs[i].count;
				}
				sum += piece->used;
				unmap_pages(piece, PIECE);
				piece = next;
			}
		}
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	unsigned long operations = 0;
	uint32_t random = 7;
	unsigned int i, round;

	take_only_arguments("wordcount", argc, argv);
	text = malloc(WORDS * sizeof(*text));
	must(text, "malloc");
	for (i = 0; i < WORDS; i++) {
		text[i] = next_random(&random) % DISTINCT;
		expected[text[i]]++;
	}
	for (round = 0; round < rounds; round++) {
		memset(counted, 0, sizeof(counted));
		run_threads(map_phase);
		operations += run_threads(reduce_phase);
		for (i = 0; i < DISTINCT; i++) {
			if (counted[i] != expected[i])
				fail("a word was counted wrongly", i);
		}
	}
	report("wordcount", operations);
	return 0;
}
