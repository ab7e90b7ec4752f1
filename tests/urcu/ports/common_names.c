// SPDX-License-Identifier: Apache-2.0
/* A source of a program of liburcu that uses what all flavors have, by the common names. */
#define _GNU_SOURCE
#include FLAVOR_HEADER

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <urcu/rculfhash.h>
#include <urcu/rculist.h>
#include <urcu/wfcqueue.h>

struct element {
  struct rcu_head head;
  int value;
};

static void release(struct rcu_head* head) {
  free(caa_container_of(head, struct element, head));
}

int use_every_kind_of_name(struct element** current, struct element* fresh);

int use_every_kind_of_name(struct element** current, struct element* fresh) {
  struct element* old;
  struct cds_lfht* table;
  int value;
#if defined(_GNU_SOURCE_TAKES_EFFECT)
  /* Declared only where _GNU_SOURCE comes before every header of the C library. */
  pthread_setname_np(pthread_self(), sched_getcpu() >= 0 ? "reader" : secure_getenv("NAME"));
#endif
  rcu_register_thread();
  rcu_read_lock();
  value = rcu_dereference(*current)->value + rcu_read_ongoing();
  rcu_read_unlock();
  rcu_quiescent_state();
  rcu_thread_offline();
  rcu_thread_online();
  old = rcu_xchg_pointer(current, fresh);
  synchronize_rcu();
  call_rcu(&old->head, release);
  defer_rcu(free, NULL);
  rcu_barrier();
  free_all_cpu_call_rcu_data();
  table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, NULL);
  cds_lfht_destroy(table, NULL);
  rcu_unregister_thread();
  return value;
}
