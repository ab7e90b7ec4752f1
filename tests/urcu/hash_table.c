// SPDX-License-Identifier: Apache-2.0
/* liburcu's lock-free hash table under a flavor: threads insert, look up, delete and resize, and no
 * entry is freed while a reader may see it. Compiled for each flavor by its header (FLAVOR_HEADER).
 * Silent on success. */
#define _GNU_SOURCE

#include FLAVOR_HEADER

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/rculfhash.h>
#include <urcu/uatomic.h>

#include "support/expect.h"

enum {
  keys = 256,
  turns = 20000,
  most_turns = 100 * turns,
  finds = 1000,
  updaters = 2,
  lookers = 2,
  alive = 0x600D,
  freed = 0xDEAD,
};

struct entry {
  struct cds_lfht_node node;
  struct rcu_head head;
  unsigned long key;
  int state;
};

static struct cds_lfht* table;
static long inserted, removed, reclaimed, found;
static int stop;

static unsigned long hash_of(unsigned long key) {
  return key * 0x9E3779B97F4A7C15U;
}

static int is_key(struct cds_lfht_node* node, const void* key) {
  return caa_container_of(node, struct entry, node)->key == *(const unsigned long*)key;
}

static void reclaim(struct rcu_head* head) {
  struct entry* entry = caa_container_of(head, struct entry, head);
  EXPECT(entry->state, alive);
  entry->state = freed;
  uatomic_inc(&reclaimed);
  free(entry);
}

static struct entry* look_up(unsigned long key) {
  struct cds_lfht_iter iterator;
  cds_lfht_lookup(table, hash_of(key), is_key, &key, &iterator);
  struct cds_lfht_node* node = cds_lfht_iter_get_node(&iterator);
  return node != NULL ? caa_container_of(node, struct entry, node) : NULL;
}

static void insert(unsigned long key) {
  struct entry* entry = malloc(sizeof *entry);
  EXPECT(entry != NULL, 1);
  memset(entry, 0xAA, sizeof *entry); /* rcu_head need not be initialised */
  entry->key = key;
  entry->state = alive;
  cds_lfht_node_init(&entry->node);
  rcu_read_lock();
  int fresh = cds_lfht_add_unique(table, hash_of(key), is_key, &key, &entry->node) == &entry->node;
  rcu_read_unlock();
  if (fresh) {
    uatomic_inc(&inserted);
  } else {
    free(entry); /* never visible to other threads */
  }
}

static void erase(unsigned long key) {
  rcu_read_lock();
  struct entry* entry = look_up(key);
  int mine = entry != NULL && cds_lfht_del(table, &entry->node) == 0;
  rcu_read_unlock();
  if (mine) {
    uatomic_inc(&removed);
    call_rcu(&entry->head, reclaim);
  }
}

static void* update(void* argument) {
  unsigned long random = (unsigned long)(size_t)argument + 1;
  rcu_register_thread();
  /* Runs long enough for the readers to have found some entries. */
  for (int turn = 0; turn < turns || (uatomic_read(&found) < finds && turn < most_turns); ++turn) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    unsigned long key = random >> 33 & (keys - 1);
    (random >> 60 & 1) != 0 ? insert(key) : erase(key);
    if (turn % 2048 == 0) cds_lfht_resize(table, 1UL << (random >> 40 & 7));
    if (turn % 4096 == 0) synchronize_rcu();
  }
  rcu_unregister_thread();
  return NULL;
}

static void* look(void* argument) {
  (void)argument;
  rcu_register_thread();
  for (unsigned long key = 0; !uatomic_read(&stop); key = (key + 1) % keys) {
    rcu_read_lock();
    struct entry* entry = look_up(key);
    if (entry != NULL) {
      EXPECT(entry->key == key, 1);
      EXPECT(uatomic_read(&entry->state), alive);
      uatomic_inc(&found);
    }
    if (key == 0) {
      struct cds_lfht_iter iterator;
      struct cds_lfht_node* node;
      cds_lfht_for_each(table, &iterator, node) {
        EXPECT(uatomic_read(&caa_container_of(node, struct entry, node)->state), alive);
      }
    }
    rcu_read_unlock();
    rcu_quiescent_state();
  }
  rcu_unregister_thread();
  return NULL;
}

static void from_several_threads(void) {
  pthread_t threads[updaters + lookers];
  for (int i = 0; i < updaters + lookers; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, i < updaters ? update : look, (void*)(size_t)i), 0);
  }
  for (int i = 0; i < updaters; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  uatomic_set(&stop, 1);
  for (int i = updaters; i < updaters + lookers; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  EXPECT(removed > 0, 1);
  EXPECT(found >= finds, 1);
}

/* The thread that resizes the table continues in the child through the flavor's hooks, and pending
 * callbacks keep waiting for their grace period. */
static void through_a_fork(void) {
  for (unsigned long key = 0; key < keys; ++key) insert(key);
  rcu_barrier();
  long before = reclaimed;
  call_rcu_before_fork();
  rcu_read_lock(); /* so that nothing is reclaimed before the fork */
  for (unsigned long key = 0; key < keys / 2; ++key) erase(key);
  pid_t child = fork();
  EXPECT(child >= 0, 1);
  EXPECT(reclaimed, before);
  child == 0 ? call_rcu_after_fork_child() : call_rcu_after_fork_parent();
  rcu_read_unlock();
  for (unsigned long key = 0; key < keys / 2; ++key) insert(key);
  for (unsigned long key = 0; key < keys; ++key) erase(key);
  cds_lfht_resize(table, 4);
  rcu_barrier();
  EXPECT(reclaimed, before + keys / 2 + keys);
  if (child == 0) exit(0);
  int status = -1;
  EXPECT(waitpid(child, &status, 0), child);
  EXPECT(status, 0);
}

int main(void) {
  rcu_init();
  rcu_register_thread();
  EXPECT(create_all_cpu_call_rcu_data(0), 0);
  table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
  EXPECT(table != NULL, 1);
  from_several_threads();
  through_a_fork();
  for (unsigned long key = 0; key < keys; ++key) erase(key);
  rcu_barrier();
  EXPECT(inserted, removed);
  EXPECT(reclaimed, removed);
  EXPECT(cds_lfht_destroy(table, NULL), 0);
  free_all_cpu_call_rcu_data();
  rcu_unregister_thread();
  return 0;
}
