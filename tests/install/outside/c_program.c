// SPDX-License-Identifier: Apache-2.0
/* Uses the C functions in plain C: threads read and write by upgrade, with a lock and with RCU. */
#include <pthread.h>
#include <readmost.h>
#include <readmost_rcu.h>
#include <stdio.h>
#include <stdlib.h>

static readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
static long left, right;

static void* read_and_write(void* unused) {
  long disagreements = 0;
  for (int i = 0; i < 50000; ++i) {
    readmost_rwlock_rdlock(&lock);
    disagreements += left != right;
    if (i % 100 == 0 && readmost_rwlock_tryupgrade(&lock) == 0) {
      ++left;
      ++right;
      readmost_rwlock_downgrade(&lock);
    }
    readmost_rwlock_rdunlock(&lock);
  }
  (void)unused;
  return disagreements == 0 ? NULL : &left;
}

struct box {
  struct readmost_rcu_head head;
  long content;
};

static struct box* current;
static long reclaimed;

static void reclaim(struct readmost_rcu_head* head) {
  reclaimed += ((struct box*)head)->content;
  free(head);
}

/* Publishes boxes with 1 to `last`, one after another; returns whether all were reclaimed. */
static int replace(long last) {
  for (long content = 1; content <= last; ++content) {
    struct box* fresh = malloc(sizeof *fresh);
    if (fresh == NULL) return 0;
    fresh->content = content;
    struct box* old = current;
    readmost_rcu_assign_pointer(current, fresh);
    if (old != NULL) readmost_rcu_call(NULL, &old->head, reclaim, sizeof *old);
    readmost_rcu_read_lock(NULL);
    const long seen = readmost_rcu_dereference(current)->content;
    readmost_rcu_read_unlock(NULL);
    if (seen != content) return 0;
  }
  readmost_rcu_call(NULL, &current->head, reclaim, sizeof *current);
  return readmost_rcu_barrier(NULL) == 0 && reclaimed == last * (last + 1) / 2;
}

int main(void) {
  pthread_t thread;
  if (!replace(1000)) {
    fprintf(stderr, "an object of RCU was not reclaimed\n");
    return 1;
  }
  if (pthread_create(&thread, NULL, read_and_write, NULL) != 0) return 1;
  void* mine = read_and_write(NULL);
  void* others = NULL;
  pthread_join(thread, &others);
  if (mine != NULL || others != NULL || left != right) {
    fprintf(stderr, "a reader met a half-done write, or one is lost\n");
    return 1;
  }
  return 0;
}
