// SPDX-License-Identifier: Apache-2.0
/* A program in plain C that uses every function of readmost_hazard_pointer.h; silent when all
 * behave as documented. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <pthread.h>
#include <readmost_hazard_pointer.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"

enum { reader_count = 3, updates = 200000 };

/* --- Objects whose reclamation is noticed ----------------------------------------------------- */

struct item {
  struct readmost_hazard_head head;
  long left, right; /* equal until it is reclaimed */
};

static long reclaimed;

static long reclaimed_now(void) {
  return __atomic_load_n(&reclaimed, __ATOMIC_RELAXED);
}

static void reclaim(struct readmost_hazard_head* head) {
  struct item* item = (struct item*)head;
  EXPECT(item->left, item->right);
  item->left = -1;
  item->right = -2;
  __atomic_fetch_add(&reclaimed, 1, __ATOMIC_RELAXED);
  free(item);
}

static struct item* make(long value) {
  struct item* item = malloc(sizeof *item);
  EXPECT(item != NULL, 1);
  memset(item, 0xAA, sizeof *item);
  item->left = item->right = value;
  return item;
}

static void retire(struct item* item) {
  EXPECT(readmost_hazard_retire(&item->head, reclaim, sizeof *item), 0);
}

/* What a clean-up reclaims. */
static long cleaned_up(void) {
  const long before = reclaimed_now();
  readmost_hazard_clean_up();
  return reclaimed_now() - before;
}

static void make_hazard(readmost_hazard_pointer_t* hazard) {
  memset(hazard, 0xAA, sizeof *hazard);
  EXPECT(readmost_hazard_pointer_create(hazard), 0);
}

/* --- One operation at a time ------------------------------------------------------------------ */

static void what_is_protected_stays(void) {
  readmost_hazard_pointer_t hazard;
  make_hazard(&hazard);
  struct item* current = make(1);
  struct item* seen = readmost_hazard_protect(&hazard, current);
  EXPECT(seen == current, 1);
  retire(readmost_hazard_exchange(current, make(2)));
  EXPECT(cleaned_up(), 0);
  EXPECT(seen->left, 1);
  seen = readmost_hazard_pointer_protect(&hazard, &current); /* instead of the former */
  EXPECT(seen->left, 2);
  EXPECT(cleaned_up(), 1);
  retire(readmost_hazard_exchange(current, NULL));
  EXPECT(cleaned_up(), 0);
  readmost_hazard_pointer_reset(&hazard);
  EXPECT(cleaned_up(), 1);

  EXPECT(readmost_hazard_protect(&hazard, current) == NULL, 1);
  current = make(3);
  seen = readmost_hazard_protect(&hazard, current);
  retire(current);
  EXPECT(cleaned_up(), 0);
  readmost_hazard_pointer_destroy(&hazard);
  EXPECT(hazard.readmost_slot == NULL, 1);
  readmost_hazard_pointer_destroy(&hazard);
  EXPECT(cleaned_up(), 1);
}

static void only_what_is_current_is_protected(void) {
  readmost_hazard_pointer_t hazard;
  make_hazard(&hazard);
  struct item* first = make(1);
  struct item* second = make(2);
  struct item* current = first;
  struct item* expected = first;
  EXPECT(readmost_hazard_try_protect(&hazard, expected, current), 1);
  EXPECT(expected == first, 1);
  current = second;
  retire(first);
  EXPECT(cleaned_up(), 0);
  EXPECT(readmost_hazard_pointer_try_protect(&hazard, &expected, &current), 0);
  EXPECT(expected == second, 1);
  EXPECT(cleaned_up(), 1); /* it protects nothing */
  EXPECT(readmost_hazard_try_protect(&hazard, expected, current), 1);
  retire(second);
  EXPECT(cleaned_up(), 0);
  readmost_hazard_pointer_destroy(&hazard);
  EXPECT(cleaned_up(), 1);
}

/* Pointers to the head, which is not the first member. */
struct late {
  long value;
  struct readmost_hazard_head head;
};

static struct late* late_of(struct readmost_hazard_head* head) {
  return READMOST_RCU_ENTRY(head, struct late, head);
}

static void reclaim_late(struct readmost_hazard_head* head) {
  EXPECT(late_of(head)->value, 7);
  __atomic_fetch_add(&reclaimed, 1, __ATOMIC_RELAXED);
}

static void a_head_may_be_anywhere(void) {
  readmost_hazard_pointer_t hazard, other;
  make_hazard(&hazard);
  make_hazard(&other);
  static struct late late = {.value = 7};
  struct readmost_hazard_head* current = &late.head;
  EXPECT(late_of(readmost_hazard_protect(&hazard, current))->value, 7);
  readmost_hazard_pointer_set(&other, current);
  EXPECT(readmost_hazard_retire(&late.head, reclaim_late, 0), 0);
  readmost_hazard_pointer_destroy(&hazard);
  EXPECT(cleaned_up(), 0);
  readmost_hazard_pointer_set(&other, NULL);
  EXPECT(cleaned_up(), 1);
  readmost_hazard_pointer_destroy(&other);
}

static void* destroy_there(void* hazard) {
  readmost_hazard_pointer_destroy(hazard);
  return NULL;
}

static void a_hazard_pointer_may_be_moved(void) {
  readmost_hazard_pointer_t hazard;
  pthread_t thread;
  make_hazard(&hazard);
  struct item* current = make(1);
  EXPECT(readmost_hazard_protect(&hazard, current)->left, 1);
  readmost_hazard_pointer_t moved = hazard;
  memset(&hazard, 0, sizeof hazard);
  retire(current);
  EXPECT(cleaned_up(), 0);
  EXPECT(pthread_create(&thread, NULL, destroy_there, &moved), 0);
  EXPECT(pthread_join(thread, NULL), 0);
  EXPECT(cleaned_up(), 1);
  readmost_hazard_pointer_destroy(&hazard);
}

static struct item* next_one;

static void reclaim_and_retire(struct readmost_hazard_head* head) {
  EXPECT(readmost_hazard_retire(&next_one->head, reclaim, 0), 0);
  reclaim(head);
}

static void a_function_may_retire(void) {
  next_one = make(2);
  struct item* item = make(1);
  EXPECT(readmost_hazard_retire(&item->head, reclaim_and_retire, 0), 0);
  EXPECT(cleaned_up(), 2);
}

/* So many objects wait at most, and bytes count. */
static void the_backlog_is_bounded(void) {
  enum { limit = 512, uncounted = 16, hour = 3600 };
  readmost_hazard_limit_backlog(limit, UINT64_MAX, (uint64_t)hour * 1000 * 1000);
  long waiting = 0;
  long most = 0;
  for (int i = 0; i < 20 * limit; ++i) {
    const long before = reclaimed_now();
    retire(make(i));
    waiting += 1 - (reclaimed_now() - before);
    if (waiting > most) most = waiting;
  }
  EXPECT(most <= limit + uncounted, 1);
  EXPECT(most >= limit - uncounted, 1); /* the limit is the one set */
  EXPECT(cleaned_up(), waiting);

  readmost_hazard_limit_backlog(UINT64_MAX, 1 << 20, UINT64_MAX / 1000 + 1);
  const long before = reclaimed_now();
  for (int i = 1; i <= 3; ++i) {
    struct item* item = make(i);
    EXPECT(readmost_hazard_retire(&item->head, reclaim, i == 3 ? SIZE_MAX : 300 << 10), 0);
    EXPECT(reclaimed_now() - before, i == 3 ? 3 : 0);
  }
  readmost_hazard_limit_backlog(128, 1 << 20, 1000 * 1000);
}

static void nothing_is_done_that_was_not_asked_for(void) {
  struct item* item = make(1);
  EXPECT(readmost_hazard_retire(&item->head, NULL, 0), EINVAL);
  EXPECT(cleaned_up(), 0);
  free(item);
  EXPECT(readmost_hazard_reclaim_by(-1), EINVAL);
  EXPECT(readmost_hazard_reclaim_by(3), EINVAL);

  EXPECT(readmost_hazard_reclaim_by(READMOST_RCU_ON_REQUEST), 0);
  const long before = reclaimed_now();
  for (int i = 0; i < 1000; ++i) retire(make(i));
  EXPECT(reclaimed_now() - before, 0);
  EXPECT(cleaned_up(), 1000);

  EXPECT(readmost_hazard_reclaim_by(READMOST_RCU_IN_BACKGROUND), 0);
  for (int i = 0; i < 1000; ++i) retire(make(i));
  while (reclaimed_now() - before < 2000) sched_yield();
  EXPECT(readmost_hazard_reclaim_by(READMOST_RCU_IN_PLACE), 0);
}

/* --- Readers and writers ---------------------------------------------------------------------- */

static struct item* current;
static int stop;

static void* read_items(void* argument) {
  readmost_hazard_pointer_t hazards[2];
  (void)argument;
  for (int i = 0; i < 2; ++i) make_hazard(&hazards[i]);
  struct item* former = readmost_hazard_protect(&hazards[1], current);
  for (int turn = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); turn = 1 - turn) {
    struct item* item = readmost_hazard_protect(&hazards[turn], current);
    EXPECT(item->left, item->right);
    EXPECT(former->left, former->right); /* the other one protects that still */
    EXPECT(item->left >= former->left, 1);
    former = item;
  }
  for (int i = 0; i < 2; ++i) readmost_hazard_pointer_destroy(&hazards[i]);
  return NULL;
}

static void together(void) {
  pthread_t readers[reader_count];
  const long before = reclaimed_now();
  current = make(0);
  for (int i = 0; i < reader_count; ++i) {
    EXPECT(pthread_create(&readers[i], NULL, read_items, NULL), 0);
  }
  for (long value = 1; value <= updates; ++value) {
    retire(readmost_hazard_exchange(current, make(value)));
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < reader_count; ++i) EXPECT(pthread_join(readers[i], NULL), 0);
  readmost_hazard_clean_up();
  EXPECT(reclaimed_now() - before, updates);
  free(current);
}

int main(void) {
  errno = ENOTTY;
  what_is_protected_stays();
  only_what_is_current_is_protected();
  a_head_may_be_anywhere();
  a_hazard_pointer_may_be_moved();
  a_function_may_retire();
  the_backlog_is_bounded();
  nothing_is_done_that_was_not_asked_for();
  EXPECT(errno, ENOTTY);
  together();
  return 0;
}
