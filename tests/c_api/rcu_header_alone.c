/* The header by itself, in the oldest C that it promises. */
#include <readmost_rcu.h>
/* Again: it must not mind. */
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
