// SPDX-License-Identifier: Apache-2.0
/* The header alone, in the oldest C standard that it supports. */
#include <readmost_hazard_pointer.h>
/* A second inclusion must have no effect. */
#include <readmost_hazard_pointer.h>

struct config {
  struct readmost_hazard_head head;
  int value;
};

extern int value_of(readmost_hazard_pointer_t* hazard, struct config* const* current);
int value_of(readmost_hazard_pointer_t* hazard, struct config* const* current) {
  return readmost_hazard_protect(hazard, *current)->value;
}

extern int is_current(readmost_hazard_pointer_t* hazard, struct config** current,
                      struct config* expected);
int is_current(readmost_hazard_pointer_t* hazard, struct config** current,
               struct config* expected) {
  return readmost_hazard_try_protect(hazard, expected, *current);
}

extern struct config* replace(struct config** current, struct config* fresh);
struct config* replace(struct config** current, struct config* fresh) {
  struct config* old = readmost_hazard_exchange(*current, fresh);
  return old != (void*)0 ? old : readmost_hazard_exchange(*current, (void*)0);
}
