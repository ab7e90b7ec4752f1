// SPDX-License-Identifier: Apache-2.0
/* Readers check the age of the elements that a writer replaces, as in rcutorture: the age is 0
 * while the element is the current one, becomes 1 when it is replaced, and grows by one with every
 * grace period that has ended since. A reader may see 0 and 1. If a reader sees more, a grace
 * period did not wait for it. Compiled for each flavor of liburcu by its header (FLAVOR_HEADER).
 *
 *   torture synchronize|call_rcu|worker|defer_rcu|poll SECONDS
 *
 * `worker`: call_rcu() into a worker of its own.
 */
#define _GNU_SOURCE

#include FLAVOR_HEADER

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <urcu/uatomic.h>

enum {
  elements = 16,
  ages = 6, /* an element that has reached the last age is reused */
  oldest_allowed = 1,
  readers = 3,
};

struct element {
  struct rcu_head head;
  int age;
  int in_use; /* 0 only while no reader may see it */
};

static struct element pool[elements];
static struct element* current;
static int stop;
static long updates;

struct reader {
  pthread_t thread;
  unsigned number;
  long seen[ages + 1]; /* histogram: the number of reads that saw each age */
  long unused;
};

static void pause_for(unsigned number, long read) {
  /* Most sections are short; some are interrupted by other threads, some sleep. */
  if (read % 1024 == number) usleep(200);
  if (read % 64 == number) sched_yield();
  for (volatile long spin = read % 128; spin > 0; --spin) {
  }
}

static void* read_ages(void* argument) {
  struct reader* me = argument;
  rcu_register_thread();
  for (long read = 0; !uatomic_read(&stop); ++read) {
    rcu_read_lock();
    const struct element* element = rcu_dereference(current);
    if (!uatomic_read(&element->in_use)) ++me->unused;
    if (read % 16 == 0) {
      rcu_read_lock(); /* the inner unlock must not end the section */
      rcu_read_unlock();
    }
    pause_for(me->number, read);
    int age = uatomic_read(&element->age);
    if (!uatomic_read(&element->in_use)) ++me->unused;
    rcu_read_unlock();
    ++me->seen[age < ages ? age : ages];
    if (read % 4096 == 0) rcu_quiescent_state();
    if (read % 8192 == 0) {
      rcu_thread_offline();
      usleep(100);
      rcu_thread_online();
    }
  }
  rcu_unregister_thread();
  return NULL;
}

/* --- Ways to wait for a grace period ---------------------------------------------------------- */

static void retire_again(struct rcu_head* head);

/* Counts one more grace period; returns whether the element may be reused. */
static int grow(struct element* element) {
  if (uatomic_add_return(&element->age, 1) < ages) return 0;
  uatomic_set(&element->in_use, 0);
  return 1;
}

static void retire(struct element* element) {
  call_rcu(&element->head, retire_again);
}

static void retire_again(struct rcu_head* head) {
  struct element* element = caa_container_of(head, struct element, head);
  if (!grow(element)) retire(element);
}

static void defer(void* argument) {
  struct element* element = argument;
  if (!grow(element)) defer_rcu(defer, element);
}

static void grow_all(void) {
  for (int i = 0; i < elements; ++i) {
    if (&pool[i] != current && uatomic_read(&pool[i].in_use)) grow(&pool[i]);
  }
}

static void wait_by_polling(void) {
#ifdef HAS_POLL
  struct urcu_gp_poll_state state = start_poll_synchronize_rcu();
  while (!poll_state_synchronize_rcu(state)) sched_yield();
#else
  synchronize_rcu();
#endif
}

static void carry_on_after_grace_period(const char* way, struct element* old) {
  if (strcmp(way, "call_rcu") == 0 || strcmp(way, "worker") == 0) {
    retire(old);
  } else if (strcmp(way, "defer_rcu") == 0) {
    defer_rcu(defer, old);
  } else {
    strcmp(way, "poll") == 0 ? wait_by_polling() : synchronize_rcu();
    grow_all();
  }
}

/* --- The writer ------------------------------------------------------------------------------- */

static struct element* take_free(void) {
  for (int i = 0; i < elements; ++i) {
    if (!uatomic_read(&pool[i].in_use)) {
      cmm_smp_mb();
      pool[i].age = 0;
      uatomic_set(&pool[i].in_use, 1);
      return &pool[i];
    }
  }
  return NULL;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void update_until(double end, const char* way) {
  while (now() < end) {
    struct element* fresh = take_free();
    if (fresh == NULL) { /* all elements wait for grace periods */
      sched_yield();
      continue;
    }
    struct element* old = current;
    rcu_assign_pointer(current, fresh);
    uatomic_inc(&old->age);
    carry_on_after_grace_period(way, old);
    ++updates;
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* way = argv[1];
  static struct reader crowd[readers];

  rcu_init();
  rcu_register_thread();
  rcu_defer_register_thread();
  current = take_free();
  for (unsigned i = 0; i < readers; ++i) {
    crowd[i].number = i;
    if (pthread_create(&crowd[i].thread, NULL, read_ages, &crowd[i]) != 0) return 2;
  }
  if (strcmp(way, "worker") == 0) set_thread_call_rcu_data(create_call_rcu_data(0, -1));
  update_until(now() + atof(argv[2]), way);
  uatomic_set(&stop, 1);
  long seen[ages + 1] = {0};
  long unused = 0;
  for (unsigned i = 0; i < readers; ++i) {
    pthread_join(crowd[i].thread, NULL);
    for (int age = 0; age <= ages; ++age) seen[age] += crowd[i].seen[age];
    unused += crowd[i].unused;
  }
  rcu_barrier();
  rcu_defer_barrier();
  rcu_defer_unregister_thread();
  rcu_unregister_thread();

  long too_old = 0;
  printf("%ld updates; reads by age:", updates);
  for (int age = 0; age <= ages; ++age) {
    printf(" %ld", seen[age]);
    if (age > oldest_allowed) too_old += seen[age];
  }
  printf("\n");
  if (updates == 0 || seen[0] == 0) {
    printf("nothing happened\n");
    return 2;
  }
  if (too_old != 0 || unused != 0) {
    printf("%ld reads of elements older than a grace period, %ld of unused ones\n", too_old,
           unused);
    return 1;
  }
  return 0;
}
