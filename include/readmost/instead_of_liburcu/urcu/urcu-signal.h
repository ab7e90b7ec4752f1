// SPDX-License-Identifier: Apache-2.0
/* Takes the place of liburcu's <urcu/urcu-signal.h>: see <readmost/urcu.h>. */
#include <readmost/urcu.h>
