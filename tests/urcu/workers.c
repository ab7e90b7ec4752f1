// SPDX-License-Identifier: Apache-2.0
/* The workers that a program makes for call_rcu(), under a flavor (FLAVOR_HEADER): each has a
 * thread of its own. liburcu's moves to its CPU only after a while. Silent on success. */
#define _GNU_SOURCE

#include FLAVOR_HEADER

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/uatomic.h>

#include "support/expect.h"
#include "support/sanitizers.hpp"

enum { callbacks = 1000, rounds = 50, queueing_threads = 3 };

struct call {
  struct rcu_head head;
  int number;
};

static int blocked, in_blocked;
static long called, in_order;
static pthread_t called_by;

static struct call* new_call(int number) {
  struct call* call = malloc(sizeof *call);
  EXPECT(call != NULL, 1);
  memset(call, 0xAA, sizeof *call);
  call->number = number;
  return call;
}

static void count(struct rcu_head* head) {
  struct call* call = caa_container_of(head, struct call, head);
  if (uatomic_read(&called) == call->number) uatomic_inc(&in_order);
  called_by = pthread_self();
  free(call);
  uatomic_inc(&called);
}

static void block(struct rcu_head* head) {
  free(caa_container_of(head, struct call, head));
  uatomic_set(&in_blocked, 1);
  while (uatomic_read(&blocked)) usleep(100);
}

static void queue(int calls) {
  uatomic_set(&called, 0);
  uatomic_set(&in_order, 0);
  for (int i = 0; i < calls; ++i) call_rcu(&new_call(i)->head, count);
}

static struct call_rcu_data* new_worker(void) {
  struct call_rcu_data* worker = create_call_rcu_data(0, -1);
  EXPECT(worker != NULL, 1);
  return worker;
}

static void have_threads_of_their_own(void) {
  struct call_rcu_data* first = new_worker();
  struct call_rcu_data* second = new_worker();
  pthread_t usual = get_call_rcu_thread(get_default_call_rcu_data());
  EXPECT(pthread_equal(get_call_rcu_thread(first), get_call_rcu_thread(second)), 0);
  EXPECT(pthread_equal(get_call_rcu_thread(first), usual), 0);
  EXPECT(pthread_equal(get_call_rcu_thread(first), pthread_self()), 0);
  struct call_rcu_data* workers[] = {first, second, NULL};
  pthread_t threads[] = {get_call_rcu_thread(first), get_call_rcu_thread(second), usual};
  for (int i = 0; i < 3; ++i) {
    set_thread_call_rcu_data(workers[i]);
    EXPECT(get_call_rcu_data() == (i < 2 ? workers[i] : get_default_call_rcu_data()), 1);
    queue(callbacks);
    rcu_barrier();
    EXPECT(called, callbacks);
    EXPECT(in_order, callbacks);
    EXPECT(pthread_equal(called_by, threads[i]) != 0, 1);
  }
  call_rcu_data_free(first);
  call_rcu_data_free(second);
  call_rcu_data_free(NULL);
  call_rcu_data_free(get_default_call_rcu_data());
}

/* What a callback passes to call_rcu() stays with its worker. */
static void call_again(struct rcu_head* head) {
  call_rcu(head, count);
}

static void keep_what_their_callbacks_pass_on(void) {
  struct call_rcu_data* worker = new_worker();
  set_thread_call_rcu_data(worker);
  queue(0);
  call_rcu(&new_call(0)->head, call_again);
  rcu_barrier();
  rcu_barrier();
  EXPECT(called, 1);
  EXPECT(pthread_equal(called_by, get_call_rcu_thread(worker)) != 0, 1);
  set_thread_call_rcu_data(NULL);
  call_rcu_data_free(worker);
}

/* One that is busy delays nobody else's callbacks. */
static void do_not_wait_for_each_other(void) {
  struct call_rcu_data* busy = new_worker();
  struct call_rcu_data* free_one = new_worker();
  uatomic_set(&blocked, 1);
  set_thread_call_rcu_data(busy);
  call_rcu(&new_call(0)->head, block);
  while (!uatomic_read(&in_blocked)) usleep(100);
  struct call_rcu_data* others[] = {free_one, NULL};
  for (int i = 0; i < 2; ++i) {
    set_thread_call_rcu_data(others[i]);
    queue(callbacks);
    while (uatomic_read(&called) != callbacks) usleep(100);
  }
  uatomic_set(&blocked, 0);
  call_rcu_data_free(busy);
  call_rcu_data_free(free_one);
}

/* Also those that waited for a reader while their worker was freed. */
static void* free_it(void* worker) {
  call_rcu_data_free(worker);
  return NULL;
}

static void lose_no_callback_when_freed(void) {
  struct call_rcu_data* worker = new_worker();
  set_thread_call_rcu_data(worker);
  rcu_read_lock();
  queue(callbacks);
  set_thread_call_rcu_data(NULL);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, free_it, worker), 0);
  usleep(1000);
  EXPECT(uatomic_read(&called), 0);
  rcu_read_unlock();
  EXPECT(pthread_join(thread, NULL), 0);
  rcu_barrier();
  EXPECT(called, callbacks);
}

static void serve_their_cpus(void) {
  EXPECT(create_all_cpu_call_rcu_data(0), 0);
  cpu_set_t before, one;
  EXPECT(sched_getaffinity(0, sizeof before, &before), 0);
  const size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
  for (size_t cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one), 0);
    struct call_rcu_data* worker = get_cpu_call_rcu_data((int)cpu);
    EXPECT(get_call_rcu_data() == worker, 1);
    queue(callbacks);
    rcu_barrier();
    EXPECT(called, callbacks);
    EXPECT(pthread_equal(called_by, get_call_rcu_thread(worker)) != 0, 1);
#if defined(HAS_AFFINITY_AT_ONCE)
    EXPECT(pthread_getaffinity_np(called_by, sizeof one, &one), 0);
    EXPECT(CPU_COUNT(&one) == 1 && CPU_ISSET(cpu, &one), 1);
#endif
  }
  EXPECT(sched_setaffinity(0, sizeof before, &before), 0);
  queue(callbacks);
  free_all_cpu_call_rcu_data();
  rcu_barrier();
  EXPECT(called, callbacks);
}

/* Threads make, use and free workers while barriers run. */
static long all_calls;

static void count_all(struct rcu_head* head) {
  free(caa_container_of(head, struct call, head));
  uatomic_inc(&all_calls);
}

static void* come_and_go(void* ignored) {
  rcu_register_thread();
  for (int i = 0; i < rounds; ++i) {
    struct call_rcu_data* worker = new_worker();
    set_thread_call_rcu_data(worker);
    for (int j = 0; j < 10; ++j) call_rcu(&new_call(j)->head, count_all);
    set_thread_call_rcu_data(NULL);
    if (i % 2 == 0) rcu_barrier();
    call_rcu_data_free(worker);
  }
  rcu_unregister_thread();
  return ignored;
}

static void come_and_go_beside_barriers(void) {
  pthread_t threads[queueing_threads];
  for (int i = 0; i < queueing_threads; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
  }
  for (int i = 0; i < rounds; ++i) rcu_barrier();
  for (int i = 0; i < queueing_threads; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  rcu_barrier();
  EXPECT(all_calls, queueing_threads * rounds * 10);
}

/* AddressSanitizer's allocator takes no lock for fork(2), so that one which another thread holds
 * then is never released in the child: waits until all other threads sleep. */
static void await_sleep_of_others(void) {
#if UNDER_ADDRESS_SANITIZER
  DIR* tasks = opendir("/proc/self/task");
  EXPECT(tasks != NULL, 1);
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.' || atoi(task->d_name) == gettid()) continue;
    char path[300], line[600], state = 'R';
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
    while (state == 'R' || state == 'D') {
      usleep(1000);
      FILE* file = fopen(path, "r");
      if (file == NULL) break; /* it has ended */
      const char* name_end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
      state = name_end != NULL ? name_end[2] : 'X';
      fclose(file);
    }
  }
  closedir(tasks);
#endif
}

/* In the child callbacks that waited are called too, after which workers can be made anew. */
static void survive_a_fork(void) {
  static struct call_rcu_data* worker; /* the child has no more use for it, and does not leak it so */
  worker = new_worker();
  set_thread_call_rcu_data(worker);
  call_rcu_before_fork(); /* before the section: liburcu's waits for the workers here */
  rcu_read_lock();
  queue(callbacks);
  await_sleep_of_others();
  const pid_t child = fork();
  EXPECT(child >= 0, 1);
  if (child == 0) {
    alarm(20);
    call_rcu_after_fork_child();
    rcu_read_unlock();
    EXPECT(get_thread_call_rcu_data() == NULL, 1);
    rcu_barrier();
    EXPECT(called, callbacks);
    set_thread_call_rcu_data(new_worker());
    queue(callbacks);
    rcu_barrier();
    EXPECT(called, callbacks);
    exit(0);
  }
  call_rcu_after_fork_parent();
  rcu_read_unlock();
  int status = -1;
  EXPECT(waitpid(child, &status, 0), child);
  EXPECT(status, 0);
  rcu_barrier();
  EXPECT(called, callbacks);
  set_thread_call_rcu_data(NULL);
  call_rcu_data_free(worker);
}

int main(void) {
  alarm(50);
  rcu_init();
  rcu_register_thread();
  have_threads_of_their_own();
  keep_what_their_callbacks_pass_on();
  do_not_wait_for_each_other();
  lose_no_callback_when_freed();
  serve_their_cpus();
  come_and_go_beside_barriers();
  survive_a_fork();
  rcu_unregister_thread();
  return 0;
}
