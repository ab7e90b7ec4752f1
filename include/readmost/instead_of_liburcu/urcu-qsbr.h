// SPDX-License-Identifier: Apache-2.0
/* Takes the place of liburcu's <urcu-qsbr.h>: see <readmost/urcu.h>. */
#include <readmost/urcu.h>

#if !defined(READMOST_URCU_FOR_QSBR)
#error "see <readmost/urcu.h> about qsbr, and READMOST_URCU_FOR_QSBR"
#endif
