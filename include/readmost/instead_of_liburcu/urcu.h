/* Takes the place of liburcu's <urcu.h>: see <readmost/urcu.h>. */
#include <readmost/urcu.h>
