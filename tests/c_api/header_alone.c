// SPDX-License-Identifier: Apache-2.0
/* The header alone, in the oldest C standard that it supports. */
#include <readmost.h>
/* A second inclusion must have no effect. */
#include <readmost.h>

extern readmost_rwlock_t every_initialiser[];
readmost_rwlock_t every_initialiser[] = {READMOST_RWLOCK_INITIALIZER,
                                         READMOST_RWLOCK_INITIALIZER_READER,
                                         READMOST_RWLOCK_INITIALIZER_PHASE_FAIR};
