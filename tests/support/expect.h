// SPDX-License-Identifier: Apache-2.0
/* Expectations of programs in plain C: the first that fails ends the program with status 1. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(expression, expected) \
  expect((long)(expression), (long)(expected), #expression, __LINE__)

static void expect(long actual, long expected, const char* expression, int line) {
  if (actual == expected) return;
  fprintf(stderr, "line %d: %s is %ld instead of %ld\n", line, expression, actual, expected);
  exit(1);
}
