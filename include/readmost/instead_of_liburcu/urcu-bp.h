/* Takes the place of liburcu's <urcu-bp.h>: see <readmost/urcu.h>. */
#include <readmost/urcu.h>
