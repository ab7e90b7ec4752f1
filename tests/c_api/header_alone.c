/* The header by itself, in the oldest C that it promises. */
#include <readmost.h>
/* Again: it must not mind. */
#include <readmost.h>

extern readmost_rwlock_t every_initialiser[];
readmost_rwlock_t every_initialiser[] = {READMOST_RWLOCK_INITIALIZER,
                                         READMOST_RWLOCK_INITIALIZER_READER,
                                         READMOST_RWLOCK_INITIALIZER_PHASE_FAIR};
