// SPDX-License-Identifier: Apache-2.0
/* Takes the place of liburcu's <urcu/urcu-memb.h>: see <readmost/urcu.h>. */
#include <readmost/urcu.h>
