// SPDX-License-Identifier: Apache-2.0
/* A program in plain C that uses every name of a liburcu flavor, compiled for each flavor by its
 * header (FLAVOR_HEADER); otherwise the flavors differ only in grace-period polling. Silent when
 * all names behave as documented. */
#define _GNU_SOURCE

#include FLAVOR_HEADER

/* Other headers of liburcu, by their own names. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/list.h>
#include <urcu/rculist.h>
#include <urcu/uatomic.h>

#include "support/expect.h"

struct item {
  struct cds_list_head list;
  struct rcu_head head;
  int value;
};

static CDS_LIST_HEAD(items);
static long called;
static pthread_t called_by;

static void reclaim(struct rcu_head* head) {
  free(caa_container_of(head, struct item, head));
  called_by = pthread_self();
  uatomic_inc(&called);
}

static void count(void* p) {
  uatomic_inc((long*)p);
}

static struct item* new_item(int value) {
  struct item* item = malloc(sizeof *item);
  EXPECT(item != NULL, 1);
  memset(item, 0xAA, sizeof *item);
  item->value = value;
  return item;
}

static long sum_of_items(void) {
  long sum = 0;
  struct item* item;
  rcu_read_lock();
  cds_list_for_each_entry_rcu(item, &items, list) sum += item->value;
  rcu_read_unlock();
  return sum;
}

static void* read_in_thread(void* argument) {
  rcu_register_thread();
  EXPECT(rcu_read_ongoing(), 0);
  rcu_read_lock();
  EXPECT(rcu_read_ongoing() != 0, 1);
  rcu_read_lock();
  rcu_read_unlock();
  EXPECT(rcu_read_ongoing() != 0, 1);
  *(long*)argument = sum_of_items();
  rcu_read_unlock();
  EXPECT(rcu_read_ongoing(), 0);
  rcu_quiescent_state();
  rcu_thread_offline();
  rcu_thread_online();
  rcu_unregister_thread();
  return NULL;
}

static void pointers(void) {
  static struct item* current;
  struct item* first = new_item(1);
  struct item* second = new_item(2);
  rcu_assign_pointer(current, first);
  EXPECT(rcu_dereference(current) == first, 1);
  EXPECT(rcu_xchg_pointer(&current, second) == first, 1);
  EXPECT(rcu_cmpxchg_pointer(&current, first, second) == second, 1);
  EXPECT(rcu_cmpxchg_pointer(&current, second, first) == second, 1);
  rcu_set_pointer(&current, NULL);
  synchronize_rcu();
  free(first);
  free(second);
}

static void callbacks(void) {
  for (int value = 1; value <= 10; ++value) cds_list_add_rcu(&new_item(value)->list, &items);
  EXPECT(sum_of_items(), 55);
  long sum = 0;
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, read_in_thread, &sum), 0);
  EXPECT(pthread_join(thread, NULL), 0);
  EXPECT(sum, 55);

  struct item* item;
  struct item* next;
  cds_list_for_each_entry_safe(item, next, &items, list) {
    cds_list_del_rcu(&item->list);
    call_rcu(&item->head, reclaim);
  }
  rcu_barrier();
  EXPECT(called, 10);
  EXPECT(sum_of_items(), 0);
}

static void one_callback(void) {
  long before = uatomic_read(&called);
  call_rcu(&new_item(0)->head, reclaim);
  rcu_barrier();
  EXPECT(uatomic_read(&called), before + 1);
}

static void workers(void) {
  struct call_rcu_data* usual = get_default_call_rcu_data();
  EXPECT(usual != NULL, 1);
  EXPECT(get_call_rcu_data() == usual, 1);
  EXPECT(get_thread_call_rcu_data() == NULL, 1);
  EXPECT(get_cpu_call_rcu_data(0) == NULL, 1);
  one_callback();
  EXPECT(pthread_equal(get_call_rcu_thread(usual), called_by) != 0, 1);

  struct call_rcu_data* own = create_call_rcu_data(0, -1);
  EXPECT(own != NULL, 1);
  set_thread_call_rcu_data(own);
  EXPECT(get_thread_call_rcu_data() == own, 1);
  one_callback();
  EXPECT(pthread_equal(get_call_rcu_thread(own), called_by) != 0, 1);
  set_thread_call_rcu_data(NULL);
  EXPECT(get_thread_call_rcu_data() == NULL, 1);

  EXPECT(set_cpu_call_rcu_data(0, own), 0);
  EXPECT(get_cpu_call_rcu_data(0) == own, 1);
  errno = 0;
  EXPECT(set_cpu_call_rcu_data(0, own), -EEXIST);
  EXPECT(errno, EEXIST);
  one_callback();
  EXPECT(set_cpu_call_rcu_data(0, NULL), 0);
  EXPECT(get_cpu_call_rcu_data(0) == NULL, 1);
  EXPECT(set_cpu_call_rcu_data(-1, own), -EINVAL);
  EXPECT(set_cpu_call_rcu_data(1 << 20, own), -EINVAL);
  EXPECT(get_cpu_call_rcu_data(-1) == NULL, 1);
  call_rcu_data_free(own);

  EXPECT(create_all_cpu_call_rcu_data(0), 0);
  EXPECT(get_cpu_call_rcu_data(0) != NULL, 1);
  one_callback();
  free_all_cpu_call_rcu_data();
  EXPECT(get_cpu_call_rcu_data(0) == NULL, 1);
  one_callback();
}

static void deferred(void) {
  long done = 0;
  EXPECT(rcu_defer_register_thread(), 0);
  for (int i = 0; i < 100; ++i) defer_rcu(count, &done);
  rcu_defer_barrier_thread();
  EXPECT(done, 100);
  defer_rcu(count, &done);
  rcu_defer_barrier();
  EXPECT(done, 101);
  defer_rcu(count, &done);
  rcu_defer_unregister_thread();
  EXPECT(done, 102);
}

#ifdef HAS_POLL
static void polled(void) {
  struct urcu_gp_poll_state state = start_poll_synchronize_rcu();
  while (!poll_state_synchronize_rcu(state)) {
  }
  rcu_read_lock();
  state = start_poll_synchronize_rcu();
  for (int i = 0; i < 100; ++i) EXPECT(poll_state_synchronize_rcu(state), 0);
  rcu_read_unlock();
  while (!poll_state_synchronize_rcu(state)) {
  }
}
#endif

/* --- Forks ------------------------------------------------------------------------------------ */

static char told[8];

static void tell(void* character) {
  strcat(told, character);
}
static void tell_before(void* p) {
  (void)p;
  tell("b");
}
static void tell_parent(void* p) {
  (void)p;
  tell("p");
}
static void tell_child(void* p) {
  tell(p);
}

static void forks(void) {
  struct urcu_atfork hook = {tell_before, tell_parent, tell_child, "c"};
  urcu_register_rculfhash_atfork(&hook);
  urcu_register_rculfhash_atfork(&hook);
  urcu_unregister_rculfhash_atfork(&hook); /* one registration remains */
  call_rcu_before_fork();
  pid_t child = fork();
  EXPECT(child >= 0, 1);
  child == 0 ? call_rcu_after_fork_child() : call_rcu_after_fork_parent();
  EXPECT(strcmp(told, child == 0 ? "bc" : "bp"), 0);
  one_callback();
  synchronize_rcu();
  urcu_unregister_rculfhash_atfork(&hook);
  if (child == 0) exit(0);
  int status = -1;
  EXPECT(waitpid(child, &status, 0), child);
  EXPECT(status, 0);
  call_rcu_before_fork();
  call_rcu_after_fork_parent();
  EXPECT(strcmp(told, "bp"), 0);
}

int main(void) {
  rcu_init();
  rcu_register_thread();
  pointers();
  callbacks();
  workers();
  deferred();
#ifdef HAS_POLL
  polled();
#endif
  EXPECT(rcu_flavor.read_lock != NULL, 1);
  forks();
  rcu_unregister_thread();
  return 0;
}
