// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) 2026 Readmost maintainers
/*
 * Counts the colours of a bitmap: histogram THREADS ROUNDS
 *
 * The access pattern of FCP's Histogram: threads that do little but fault pages
 * of one mapped file, each in its own part. Only the first pixels of a page are
 * counted, to leave more of the time to faults. The file is mapped once a round,
 * so there are few writes of mmap_lock and many reads.
 */
#include "support.h"

#include <fcntl.h>

#define PAGES		4096UL
#define BYTES		(PAGES * PAGE)
#define PIXELS		16	/* counted in each page */

typedef uint32_t bins[3][256];

static bins expected, found[MAX_THREADS];
static const uint8_t *image;

static void *count(void *argument)
{
	unsigned int me = (uintptr_t)argument;
	unsigned long page, begin = PAGES * me / threads, end = PAGES * (me + 1) / threads;
	bins *mine = &found[me];
	int i;

	memset(mine, 0, sizeof(*mine));
	for (page = begin; page < end; page++) {
		for (i = 0; i < PIXELS * 3; i++)
			(*mine)[i % 3][image[page * PAGE + i]]++;
	}
	return (void *)(end - begin);
}

static int make_image(void)
{
	uint8_t *pixels = malloc(BYTES);
	uint32_t random = 1;
	unsigned long i;
	int file;

	must(pixels, "malloc");
	for (i = 0; i < BYTES; i++) {
		pixels[i] = next_random(&random) >> 24;
		if (i % PAGE < PIXELS * 3)
			expected[i % PAGE % 3][pixels[i]]++;
	}
	file = open("/tmp/image", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file >= 0, "open /tmp/image");
	must(write(file, pixels, BYTES) == (ssize_t)BYTES, "write /tmp/image");
	unlink("/tmp/image");
	free(pixels);
	return file;
}

static void compare(void)
{
	unsigned int i, colour, value;

	for (colour = 0; colour < 3; colour++) {
		for (value = 0; value < 256; value++) {
			uint32_t sum = 0;

			for (i = 0; i < threads; i++)
				sum += found[i][colour][value];
			if (sum != expected[colour][value])
				fail("a colour was counted wrongly", value);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long operations = 0;
	unsigned int i;
	int file;

	take_only_arguments("histogram", argc, argv);
	file = make_image();
	for (i = 0; i < rounds; i++) {
		image = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
		must(image != MAP_FAILED, "mmap");
		operations += run_threads(count);
		compare();
		must(!munmap((void *)image, BYTES), "munmap");
	}
	report("histogram", operations);
	return 0;
}
