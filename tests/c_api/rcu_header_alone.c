// SPDX-License-Identifier: Apache-2.0
/* The header alone, in the oldest C standard that it supports. */
#include <readmost_rcu.h>
/* A second inclusion must have no effect. */
#include <readmost_rcu.h>

struct config {
  struct readmost_rcu_head head;
  int value;
};

extern int value_of(struct config** current);
int value_of(struct config** current) {
  return readmost_rcu_dereference(*current)->value;
}

extern void publish(struct config** current, struct config* fresh);
void publish(struct config** current, struct config* fresh) {
  readmost_rcu_assign_pointer(*current, fresh);
  readmost_rcu_assign_pointer(*current, (void*)0);
}
