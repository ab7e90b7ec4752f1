// SPDX-License-Identifier: Apache-2.0
/* Prints what is preloaded into it. It is linked for a loader whose name is that of musl's. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* preloaded = getenv("LD_PRELOAD");
  puts(preloaded == NULL ? "nothing" : preloaded);
  return 0;
}
