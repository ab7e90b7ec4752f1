// SPDX-License-Identifier: Apache-2.0
/* Links without a C++ library. */
#include <readmost.h>

int main(void) {
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  if (readmost_rwlock_rdlock(&lock) != 0) return 1;
  if (readmost_rwlock_upgrade(&lock) != 0) return 2;
  return readmost_rwlock_wrunlock(&lock);
}
