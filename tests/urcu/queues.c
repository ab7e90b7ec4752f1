// SPDX-License-Identifier: Apache-2.0
/* liburcu's queues and its stack under a flavor (FLAVOR_HEADER): producers and consumers pass
 * elements on, and no element is freed while another thread may read it. Silent on success. */
#define _GNU_SOURCE

#include FLAVOR_HEADER

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu/lfstack.h>
#include <urcu/rculfqueue.h>
#include <urcu/uatomic.h>
#include <urcu/wfcqueue.h>

#include "support/expect.h"

enum { producers = 2, consumers = 2, elements = 3000, alive = 0x600D, freed = 0xDEAD };

struct element {
  struct cds_lfq_node_rcu in_queue;
  struct cds_lfs_node on_stack;
  struct cds_wfcq_node in_wait_free_queue;
  struct rcu_head head;
  int producer;
  int number;
  int state;
};

static struct cds_lfq_queue_rcu queue;
static struct cds_lfs_stack stack;
static struct cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static long consumed, reclaimed;

static struct element* new_element(int producer, int number) {
  struct element* element = malloc(sizeof *element);
  EXPECT(element != NULL, 1);
  memset(element, 0xAA, sizeof *element);
  element->producer = producer;
  element->number = number;
  element->state = alive;
  return element;
}

static void reclaim(struct rcu_head* given) {
  struct element* element = caa_container_of(given, struct element, head);
  EXPECT(element->state, alive);
  element->state = freed;
  free(element);
  uatomic_inc(&reclaimed);
}

/* --- Three ways to pass elements on ----------------------------------------------------------- */

static void enqueue(struct element* element) {
  cds_lfq_node_init_rcu(&element->in_queue);
  rcu_read_lock();
  cds_lfq_enqueue_rcu(&queue, &element->in_queue);
  rcu_read_unlock();
}

static struct element* dequeue(void) {
  rcu_read_lock();
  struct cds_lfq_node_rcu* node = cds_lfq_dequeue_rcu(&queue);
  rcu_read_unlock();
  return node != NULL ? caa_container_of(node, struct element, in_queue) : NULL;
}

static void push(struct element* element) {
  cds_lfs_node_init(&element->on_stack);
  cds_lfs_push(&stack, &element->on_stack);
}

static struct element* pop(void) {
  rcu_read_lock();
  struct cds_lfs_node* node = __cds_lfs_pop(&stack);
  rcu_read_unlock();
  return node != NULL ? caa_container_of(node, struct element, on_stack) : NULL;
}

static void enqueue_wait_free(struct element* element) {
  cds_wfcq_node_init(&element->in_wait_free_queue);
  cds_wfcq_enqueue(&head, &tail, &element->in_wait_free_queue);
}

static struct element* dequeue_blocking(void) {
  struct cds_wfcq_node* node = cds_wfcq_dequeue_blocking(&head, &tail);
  return node != NULL ? caa_container_of(node, struct element, in_wait_free_queue) : NULL;
}

struct way {
  void (*put)(struct element*);
  struct element* (*take)(void);
  int keeps_order;
};
static const struct way ways[] = {
    {enqueue, dequeue, 1}, {push, pop, 0}, {enqueue_wait_free, dequeue_blocking, 1}};
static const struct way* way;

/* --- Threads ---------------------------------------------------------------------------------- */

static void* produce(void* number) {
  rcu_register_thread();
  for (int i = 0; i < elements; ++i) way->put(new_element((int)(size_t)number, i));
  rcu_unregister_thread();
  return NULL;
}

static void* consume(void* ignored) {
  int next[producers] = {0};
  rcu_register_thread();
  while (uatomic_read(&consumed) < producers * elements) {
    struct element* element = way->take();
    if (element == NULL) {
      sched_yield();
      continue;
    }
    EXPECT(element->state, alive);
    if (way->keeps_order) EXPECT(element->number >= next[element->producer], 1);
    next[element->producer] = element->number + 1;
    call_rcu(&element->head, reclaim);
    uatomic_inc(&consumed);
  }
  rcu_unregister_thread();
  return ignored;
}

static void pass_on(void) {
  pthread_t threads[producers + consumers];
  consumed = reclaimed = 0;
  for (int i = 0; i < producers + consumers; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, i < producers ? produce : consume, (void*)(size_t)i),
           0);
  }
  for (int i = 0; i < producers + consumers; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  rcu_barrier();
  EXPECT(reclaimed, producers * elements);
}

int main(void) {
  alarm(50);
  rcu_init();
  rcu_register_thread();
  cds_lfq_init_rcu(&queue, call_rcu);
  cds_lfs_init(&stack);
  cds_wfcq_init(&head, &tail);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    way = &ways[i];
    pass_on();
  }
  EXPECT(cds_lfq_destroy_rcu(&queue), 0);
  rcu_barrier();
  rcu_unregister_thread();
  return 0;
}
