// SPDX-License-Identifier: Apache-2.0
/* A program in plain C that uses every function of readmost_rcu.h; silent when all behave as
 * documented. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <pthread.h>
#include <readmost_rcu.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/expect.h"

enum { reader_count = 3, updates = 3000, polls = 100, items = 200 };

/* --- A section in another thread, open until leave() ------------------------------------------ */

struct section {
  readmost_rcu_domain_t* domain;
  pthread_t thread;
  pthread_barrier_t entered, leave;
};

static void* stay_inside(void* argument) {
  struct section* section = argument;
  readmost_rcu_read_lock(section->domain);
  pthread_barrier_wait(&section->entered);
  pthread_barrier_wait(&section->leave);
  readmost_rcu_read_unlock(section->domain);
  return NULL;
}

static void enter(struct section* section, readmost_rcu_domain_t* domain) {
  section->domain = domain;
  EXPECT(pthread_barrier_init(&section->entered, NULL, 2), 0);
  EXPECT(pthread_barrier_init(&section->leave, NULL, 2), 0);
  EXPECT(pthread_create(&section->thread, NULL, stay_inside, section), 0);
  pthread_barrier_wait(&section->entered);
}

static void leave(struct section* section) {
  pthread_barrier_wait(&section->leave);
  EXPECT(pthread_join(section->thread, NULL), 0);
  EXPECT(pthread_barrier_destroy(&section->entered), 0);
  EXPECT(pthread_barrier_destroy(&section->leave), 0);
}

static void poll_until_over(readmost_rcu_domain_t* domain, readmost_rcu_ticket_t ticket) {
  while (!readmost_rcu_poll(domain, ticket)) sched_yield();
}

/* --- One operation at a time ------------------------------------------------------------------ */

static void sections(readmost_rcu_domain_t* domain) {
  EXPECT(readmost_rcu_read_ongoing(domain), 0);
  readmost_rcu_read_lock(domain);
  readmost_rcu_read_lock(domain);
  EXPECT(readmost_rcu_read_ongoing(domain), 1);
  readmost_rcu_read_unlock(domain);
  EXPECT(readmost_rcu_read_ongoing(domain), 1);
  readmost_rcu_read_unlock(domain);
  EXPECT(readmost_rcu_read_ongoing(domain), 0);
}

static void grace_periods(readmost_rcu_domain_t* domain) {
  readmost_rcu_statistics_t before, after;
  readmost_rcu_statistics(domain, &before);
  EXPECT(readmost_rcu_synchronize(domain), 0);
  EXPECT(readmost_rcu_synchronize_expedited(domain), 0);
  readmost_rcu_ticket_t ticket = readmost_rcu_start_poll(domain);
  EXPECT(readmost_rcu_cond_synchronize(domain, ticket), 0);
  EXPECT(readmost_rcu_poll(domain, ticket), 1);
  readmost_rcu_statistics(domain, &after);
  EXPECT(after.grace_periods >= before.grace_periods + 3, 1);

  struct section section;
  enter(&section, domain);
  ticket = readmost_rcu_start_poll(domain);
  for (int i = 0; i < polls; ++i) EXPECT(readmost_rcu_poll(domain, ticket), 0);
  readmost_rcu_statistics(domain, &after);
  EXPECT(after.waits_for > 0, 1);
  EXPECT(after.waits_since > 0, 1);
  leave(&section);
  poll_until_over(domain, ticket);
}

struct item {
  struct readmost_rcu_head head;
  int value;
};

static long sum; /* of the reclaimed items */

static void reclaim(struct readmost_rcu_head* head) {
  struct item* item = (struct item*)head;
  __atomic_fetch_add(&sum, item->value, __ATOMIC_RELAXED);
  free(item);
}

static void call(readmost_rcu_domain_t* domain, int value, size_t bytes) {
  struct item* item = malloc(sizeof *item);
  EXPECT(item != NULL, 1);
  memset(item, 0xAA, sizeof *item);
  item->value = value;
  EXPECT(readmost_rcu_call(domain, &item->head, reclaim, bytes), 0);
}

static void calls(readmost_rcu_domain_t* domain) {
  readmost_rcu_statistics_t before, waiting, after;
  struct section section;
  sum = 0;
  readmost_rcu_statistics(domain, &before);
  enter(&section, domain);
  for (int i = 0; i < items; ++i) call(domain, i, 64);
  readmost_rcu_hurry(domain);
  readmost_rcu_statistics(domain, &waiting);
  EXPECT(waiting.waiting, items);
  EXPECT(waiting.waiting_bytes, 64L * items);
  EXPECT(waiting.retired - before.retired, items);
  EXPECT(sum, 0);
  leave(&section);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(sum, items * (items - 1) / 2);
  readmost_rcu_statistics(domain, &after);
  EXPECT(after.waiting, 0);
  EXPECT(after.waiting_bytes, 0);
  EXPECT(after.reclaimed - before.reclaimed, items);
}

/* A caller above the limit has to wait, so the backlog never gets much larger than the limit. */
static void limit(readmost_rcu_domain_t* domain) {
  enum { limit = 256, uncounted = 64 };
  readmost_rcu_limit_backlog(domain, limit, 1 << 20);
  for (int i = 0; i < 100 * limit; ++i) {
    call(domain, 0, 0);
    readmost_rcu_statistics_t now;
    readmost_rcu_statistics(domain, &now);
    EXPECT(now.waiting <= limit + 2 * uncounted, 1);
  }
  EXPECT(readmost_rcu_barrier(domain), 0);
  readmost_rcu_limit_backlog(domain, 65536, 32 << 20);
}

/* Above the limit a caller that only tries is refused; others wait, or go on. */
static void full(readmost_rcu_domain_t* domain) {
  enum { limit = 128, uncounted = 64 };
  struct section section;
  readmost_rcu_warn_of_stalls_after(0);
  readmost_rcu_limit_backlog(domain, limit, 1 << 20);
  sum = 0;
  enter(&section, domain);
  int done = 0;
  struct item* item = malloc(sizeof *item);
  EXPECT(item != NULL, 1);
  item->value = 1;
  while (readmost_rcu_try_call(domain, &item->head, reclaim, 0) == 0) {
    ++done;
    EXPECT(done <= limit + 2 * uncounted, 1);
    item = malloc(sizeof *item);
    EXPECT(item != NULL, 1);
    item->value = 1;
  }
  EXPECT(readmost_rcu_try_call(domain, &item->head, reclaim, 0), EAGAIN);
  EXPECT(readmost_rcu_try_call(domain, &item->head, NULL, 0), EINVAL);
  EXPECT(done >= limit, 1);
  leave(&section);
  free(item);
  EXPECT(readmost_rcu_backlog_policy(domain, READMOST_RCU_WARN), 0);
  call(domain, 1, 0);
  EXPECT(readmost_rcu_backlog_policy(domain, READMOST_RCU_BLOCK), 0);
  for (int i = 0; i < 10 * limit; ++i) call(domain, 1, 0);
  EXPECT(readmost_rcu_backlog_policy(domain, READMOST_RCU_PACE), 0);
  EXPECT(readmost_rcu_backlog_policy(domain, 3), EINVAL);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(sum, done + 1 + 10 * limit);
  readmost_rcu_limit_backlog(domain, 65536, 32 << 20);
  readmost_rcu_warn_of_stalls_after(10000);
}

/* After the first object the others wait for more, for hours. */
static void lazy(readmost_rcu_domain_t* domain) {
  const uint64_t hour = (uint64_t)3600 * 1000 * 1000;
  readmost_rcu_statistics_t before, after;
  readmost_rcu_limit_laziness(domain, hour);
  call(domain, 0, 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  readmost_rcu_statistics(domain, &before);
  for (int i = 0; i < items; ++i) call(domain, 0, 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  readmost_rcu_statistics(domain, &after);
  /* One for the first object, if the pause before it was long enough, and one for the barrier. */
  EXPECT(after.grace_periods - before.grace_periods <= 2, 1);
  readmost_rcu_limit_laziness(domain, 10000);
}

struct nap {
  struct readmost_rcu_head head;
};
static int naps_at_once;
static int naps_taken;

static void take_nap(struct readmost_rcu_head* head) {
  const struct timespec long_enough = {0, 300 * 1000 * 1000};
  EXPECT(__atomic_fetch_add(&naps_at_once, 1, __ATOMIC_RELAXED), 0);
  nanosleep(&long_enough, NULL);
  __atomic_fetch_sub(&naps_at_once, 1, __ATOMIC_RELAXED);
  ++naps_taken;
  (void)head;
}

/* Functions that would be called side by side, because they take long. */
static void alone(readmost_rcu_domain_t* domain) {
  static struct nap naps[2];
  naps_taken = 0;
  readmost_rcu_limit_reclaimers(domain, 1);
  for (int i = 0; i < 2; ++i) EXPECT(readmost_rcu_call(domain, &naps[i].head, take_nap, 0), 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(naps_taken, 2);
  readmost_rcu_limit_reclaimers(domain, 4);
}

/* --- Readers and a writer --------------------------------------------------------------------- */

struct pair {
  struct readmost_rcu_head head;
  long left, right; /* equal until it is reclaimed */
};

static struct world {
  readmost_rcu_domain_t* domain;
  struct pair* current;
  int stop;
  long reclaimed;
} world;

static void reclaim_pair(struct readmost_rcu_head* head) {
  struct pair* pair = (struct pair*)head;
  pair->left = -1;
  pair->right = -2;
  __atomic_fetch_add(&world.reclaimed, 1, __ATOMIC_RELAXED);
  free(pair);
}

static void* read_pairs(void* argument) {
  (void)argument;
  long last = 0;
  while (!__atomic_load_n(&world.stop, __ATOMIC_RELAXED)) {
    readmost_rcu_read_lock(world.domain);
    struct pair* pair = readmost_rcu_dereference(world.current);
    EXPECT(pair->left, pair->right);
    EXPECT(pair->left >= last, 1);
    last = pair->left;
    readmost_rcu_read_unlock(world.domain);
  }
  return NULL;
}

static void replace(long value, int by_call) {
  struct pair* fresh = malloc(sizeof *fresh);
  EXPECT(fresh != NULL, 1);
  fresh->left = fresh->right = value;
  struct pair* old = world.current;
  readmost_rcu_assign_pointer(world.current, fresh);
  if (old == NULL) return;
  if (by_call) {
    EXPECT(readmost_rcu_call(world.domain, &old->head, reclaim_pair, sizeof *old), 0);
  } else {
    EXPECT(readmost_rcu_synchronize(world.domain), 0);
    reclaim_pair(&old->head);
  }
}

static void together(readmost_rcu_domain_t* domain) {
  pthread_t readers[reader_count];
  world = (struct world){.domain = domain};
  replace(0, 0);
  for (int i = 0; i < reader_count; ++i) {
    EXPECT(pthread_create(&readers[i], NULL, read_pairs, NULL), 0);
  }
  for (long value = 1; value <= updates; ++value) replace(value, value % 2 != 0);
  __atomic_store_n(&world.stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < reader_count; ++i) EXPECT(pthread_join(readers[i], NULL), 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(world.reclaimed, updates);
  free(world.current);
}

/* --- Tables by id ----------------------------------------------------------------------------- */

struct account {
  int number;
  struct readmost_id_head head;
  long balance; /* of the holder of its lock */
};

static struct account* account_of(struct readmost_id_head* head) {
  return (struct account*)((char*)head - offsetof(struct account, head));
}

static int closed;

static void close_account(struct readmost_id_head* head) {
  __atomic_fetch_add(&closed, 1, __ATOMIC_RELAXED);
  free(account_of(head));
}

static struct account* make_account(int number) {
  struct account* made = malloc(sizeof *made);
  EXPECT(made != NULL, 1);
  memset(made, 0xAA, sizeof *made);
  made->number = number;
  made->balance = 0;
  return made;
}

static uint64_t open_account(readmost_id_table_t* table, int number) {
  struct account* made = make_account(number);
  uint64_t id = 0;
  EXPECT(readmost_id_table_insert(table, &made->head, close_account, sizeof *made, &id), 0);
  EXPECT(id != 0, 1);
  EXPECT(readmost_id_table_id(&made->head) == id, 1);
  return id;
}

static void add_up(struct readmost_id_head* head, uint64_t id, void* argument) {
  EXPECT(readmost_id_table_id(head) == id, 1);
  *(int*)argument += account_of(head)->number;
}

static void accounts(readmost_rcu_domain_t* domain) {
  enum { most = 50 };
  readmost_id_table_t* table;
  struct readmost_id_head* head = NULL;
  uint64_t ids[most];
  int numbers = 0;
  closed = 0;
  EXPECT(readmost_id_table_create(&table, domain, (UINT64_C(1) << 32) + 1), EINVAL);
  EXPECT(readmost_id_table_create(&table, domain, most), 0);
  EXPECT(readmost_id_table_reserve(table, 10), 0);
  EXPECT(readmost_id_table_reserve(table, most + 1), EINVAL);
  EXPECT(readmost_id_table_reserve(table, (uint64_t)-1), EINVAL);
  for (int i = 0; i < most; ++i) ids[i] = open_account(table, i);
  EXPECT(readmost_id_table_size(table), most);
  struct account* refused = make_account(0);
  EXPECT(readmost_id_table_insert(table, &refused->head, NULL, 0, ids), EINVAL);
  EXPECT(readmost_id_table_insert(table, &refused->head, close_account, 0, ids), ENOSPC);
  free(refused);
  readmost_id_table_for_each(table, add_up, &numbers);
  EXPECT(numbers, most * (most - 1) / 2);

  readmost_rcu_read_lock(domain);
  EXPECT(account_of(readmost_id_table_find(table, ids[7]))->number, 7);
  EXPECT(readmost_id_table_find(table, 0) == NULL, 1);
  EXPECT(readmost_id_table_find(table, ids[7] + (UINT64_C(1) << 32)) == NULL, 1);
  readmost_rcu_read_unlock(domain);

  EXPECT(readmost_id_table_lock(table, ids[7], &head), 0);
  EXPECT(readmost_id_table_trylock(table, ids[7], &head), EBUSY);
  EXPECT(readmost_rcu_synchronize(domain), 0);
  readmost_id_table_unlock(head);
  EXPECT(readmost_id_table_trylock(table, ids[7], &head), 0);
  readmost_id_table_erase_locked(table, head);
  EXPECT(readmost_id_table_lock(table, ids[7], &head), ENOENT);
  EXPECT(readmost_id_table_trylock(table, ids[7], &head), ENOENT);
  EXPECT(readmost_id_table_erase(table, ids[7]), ENOENT);
  EXPECT(readmost_id_table_erase(table, ids[8]), 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(closed, 2);
  const uint64_t fresh = open_account(table, 7);
  for (int i = 0; i < most; ++i) EXPECT(fresh != ids[i], 1);
  for (int i = 9; i < most; ++i) EXPECT(readmost_id_table_erase(table, ids[i]), 0);
  EXPECT(readmost_id_table_shrink(table), 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(closed, most - 7);
  readmost_id_table_destroy(table);
  EXPECT(closed, most + 1);
  EXPECT(readmost_id_table_create(&table, domain, 0), 0);
  readmost_id_table_destroy(table);
}

static struct shared_table {
  readmost_id_table_t* table;
  uint64_t id;
  int stop;
  long paid;
} shared_table;

static void* pay(void* argument) {
  (void)argument;
  while (!__atomic_load_n(&shared_table.stop, __ATOMIC_RELAXED)) {
    struct readmost_id_head* head;
    const uint64_t id = __atomic_load_n(&shared_table.id, __ATOMIC_RELAXED);
    if (readmost_id_table_lock(shared_table.table, id, &head) != 0) continue;
    ++account_of(head)->balance;
    __atomic_fetch_add(&shared_table.paid, 1, __ATOMIC_RELAXED);
    readmost_id_table_unlock(head);
  }
  return NULL;
}

static void accounts_together(readmost_rcu_domain_t* domain) {
  pthread_t payers[reader_count];
  long balances = 0;
  shared_table = (struct shared_table){.stop = 0};
  EXPECT(readmost_id_table_create(&shared_table.table, domain, 0), 0);
  shared_table.id = open_account(shared_table.table, 0);
  for (int i = 0; i < reader_count; ++i) {
    EXPECT(pthread_create(&payers[i], NULL, pay, NULL), 0);
  }
  for (int i = 0; i < updates; ++i) {
    struct readmost_id_head* head = NULL;
    EXPECT(readmost_id_table_lock(shared_table.table, shared_table.id, &head), 0);
    balances += account_of(head)->balance;
    readmost_id_table_erase_locked(shared_table.table, head);
    __atomic_store_n(&shared_table.id, open_account(shared_table.table, i), __ATOMIC_RELAXED);
  }
  __atomic_store_n(&shared_table.stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < reader_count; ++i) EXPECT(pthread_join(payers[i], NULL), 0);
  struct readmost_id_head* last = NULL;
  EXPECT(readmost_id_table_lock(shared_table.table, shared_table.id, &last), 0);
  balances += account_of(last)->balance;
  readmost_id_table_unlock(last);
  EXPECT(balances, shared_table.paid);
  EXPECT(readmost_rcu_barrier(domain), 0);
  readmost_id_table_destroy(shared_table.table);
}

/* --- Hash tables ------------------------------------------------------------------------------ */

struct session {
  int number;
  int visits;
  struct readmost_rcu_table_head head;
};

static int ended;

static struct session* session_of(const struct readmost_rcu_table_head* head) {
  return READMOST_RCU_ENTRY(head, struct session, head);
}

static int has_number(const struct readmost_rcu_table_head* head, const void* number) {
  return session_of(head)->number == *(const int*)number;
}

static uint64_t hash_of(int number) {
  return (uint64_t)number;
}

static void end_session(struct readmost_rcu_table_head* head) {
  __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
  free(session_of(head));
}

static struct session* make_session(int number, int visits) {
  struct session* made = malloc(sizeof *made);
  EXPECT(made != NULL, 1);
  memset(made, 0xAA, sizeof *made);
  made->number = number;
  made->visits = visits;
  return made;
}

static int insert_session(readmost_rcu_table_t* table, int number) {
  struct session* made = make_session(number, 0);
  const int result = readmost_rcu_table_insert(table, &made->head, hash_of(number), &number,
                                               end_session, sizeof *made);
  if (result != 0) free(made);
  return result;
}

static struct readmost_rcu_table_head* find_session(readmost_rcu_table_t* table, int number) {
  return readmost_rcu_table_find(table, hash_of(number), &number);
}

static int erase_session(readmost_rcu_table_t* table, int number) {
  return readmost_rcu_table_erase(table, hash_of(number), &number);
}

/* Counts a visit in a copy that takes the place of the session; returns the error of the last try,
 * of which there are as many as other threads make necessary. */
static int visit_session(readmost_rcu_domain_t* domain, readmost_rcu_table_t* table, int number) {
  int result = ENOENT;
  readmost_rcu_read_lock(domain);
  for (struct readmost_rcu_table_head* old; (old = find_session(table, number)) != NULL;) {
    struct session* fresh = make_session(number, session_of(old)->visits + 1);
    result = readmost_rcu_table_replace(table, old, &fresh->head, end_session, sizeof *fresh);
    if (result == 0) break;
    free(fresh);
  }
  readmost_rcu_read_unlock(domain);
  return result;
}

static void add_number(struct readmost_rcu_table_head* head, void* sum_of_numbers) {
  *(int*)sum_of_numbers += session_of(head)->number;
}

static int is_odd(const struct readmost_rcu_table_head* head, void* calls_made) {
  ++*(int*)calls_made;
  return session_of(head)->number % 2;
}

static void tables(readmost_rcu_domain_t* domain) {
  enum { many = 1000 };
  readmost_rcu_table_t* table;
  int number = 7;
  ended = 0;
  EXPECT(readmost_rcu_table_create(&table, domain, NULL, 0), EINVAL);
  EXPECT(readmost_rcu_table_create(&table, domain, has_number, UINT64_MAX), EINVAL);
  EXPECT(readmost_rcu_table_create(&table, domain, has_number, 0), 0);
  EXPECT(readmost_rcu_table_buckets(table), 16);
  for (int i = 0; i < many; ++i) EXPECT(insert_session(table, i), 0);
  EXPECT(readmost_rcu_table_size(table), many);
  EXPECT(insert_session(table, number), EEXIST);
  EXPECT(readmost_rcu_table_reserve(table, 100 * many), 0);
  EXPECT(readmost_rcu_table_buckets(table) >= 100 * many, 1);
  EXPECT(readmost_rcu_table_reserve(table, UINT64_MAX), EINVAL);

  struct session* fresh = make_session(number, 5);
  EXPECT(readmost_rcu_table_insert(table, &fresh->head, hash_of(number), &number, NULL, 0), EINVAL);
  EXPECT(readmost_rcu_table_put(table, &fresh->head, hash_of(number), &number, NULL, 0), EINVAL);
  EXPECT(readmost_rcu_table_put(table, &fresh->head, hash_of(number), &number, end_session,
                                sizeof *fresh),
         0);
  EXPECT(visit_session(domain, table, number), 0);
  readmost_rcu_read_lock(domain);
  struct readmost_rcu_table_head* found = find_session(table, number);
  EXPECT(session_of(found)->visits, 6);
  EXPECT(find_session(table, many) == NULL, 1);
  EXPECT(readmost_rcu_table_erase_object(table, found), 0);
  EXPECT(readmost_rcu_table_erase_object(table, found), ENOENT);
  struct session* late = make_session(number, 0);
  EXPECT(readmost_rcu_table_replace(table, found, &late->head, NULL, 0), EINVAL);
  EXPECT(readmost_rcu_table_replace(table, found, &late->head, end_session, 0), ENOENT);
  free(late);
  readmost_rcu_read_unlock(domain);
  EXPECT(visit_session(domain, table, number), ENOENT);
  EXPECT(erase_session(table, number), ENOENT);
  EXPECT(erase_session(table, 9), 0);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(ended, 4);

  int asked = 0, numbers = 0;
  EXPECT(readmost_rcu_table_erase_if(table, is_odd, &asked), many / 2 - 2);
  EXPECT(asked, many - 2);
  readmost_rcu_table_for_each(table, add_number, &numbers);
  EXPECT(numbers, many / 2 * (many / 2 - 1));
  EXPECT(readmost_rcu_table_size(table), many / 2);
  EXPECT(readmost_rcu_barrier(domain), 0);
  EXPECT(ended, many / 2 + 2);
  readmost_rcu_table_destroy(table);
  EXPECT(ended, many + 2);
}

static struct {
  readmost_rcu_domain_t* domain;
  readmost_rcu_table_t* table;
} shared;

static void* visit_often(void* argument) {
  for (int i = 0; i < updates; ++i) EXPECT(visit_session(shared.domain, shared.table, 1), 0);
  return argument;
}

/* No visit is lost while others come and go, for which the table is resized. */
static void tables_together(readmost_rcu_domain_t* domain) {
  enum { others = 500 };
  pthread_t visitors[reader_count];
  shared.domain = domain;
  EXPECT(readmost_rcu_table_create(&shared.table, domain, has_number, 0), 0);
  EXPECT(insert_session(shared.table, 1), 0);
  for (int i = 0; i < reader_count; ++i) {
    EXPECT(pthread_create(&visitors[i], NULL, visit_often, NULL), 0);
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 2; i < others; ++i) EXPECT(insert_session(shared.table, i), 0);
    for (int i = 2; i < others; ++i) EXPECT(erase_session(shared.table, i), 0);
  }
  for (int i = 0; i < reader_count; ++i) EXPECT(pthread_join(visitors[i], NULL), 0);
  readmost_rcu_read_lock(domain);
  EXPECT(session_of(find_session(shared.table, 1))->visits, reader_count * updates);
  readmost_rcu_read_unlock(domain);
  EXPECT(readmost_rcu_barrier(domain), 0);
  readmost_rcu_table_destroy(shared.table);
}

/* --- Domains ---------------------------------------------------------------------------------- */

static void use(readmost_rcu_domain_t* domain) {
  sections(domain);
  grace_periods(domain);
  calls(domain);
  limit(domain);
  full(domain);
  lazy(domain);
  alone(domain);
  together(domain);
  accounts(domain);
  accounts_together(domain);
  tables(domain);
  tables_together(domain);
}

static void apart(readmost_rcu_domain_t* domain, readmost_rcu_domain_t* other) {
  struct section section;
  enter(&section, domain);
  EXPECT(readmost_rcu_read_ongoing(other), 0);
  EXPECT(readmost_rcu_synchronize(other), 0);
  EXPECT(readmost_rcu_barrier(other), 0);
  leave(&section);
}

/* --- Lists ------------------------------------------------------------------------------------ */

struct route {
  int number;
  struct readmost_rcu_link link;
};

static struct readmost_rcu_link routes = READMOST_RCU_LIST(routes);

/* The numbers in the list as the digits of one, forwards; the same backwards is expected. */
static long digits_of(const struct readmost_rcu_link* list) {
  long forwards = 0, backwards = 0, place = 1;
  for (struct readmost_rcu_link* at = readmost_rcu_list_next(list); at != list;
       at = readmost_rcu_list_next(at)) {
    forwards = 10 * forwards + READMOST_RCU_ENTRY(at, struct route, link)->number;
  }
  for (struct readmost_rcu_link* at = list->readmost_previous; at != list;
       at = at->readmost_previous) {
    backwards += place * READMOST_RCU_ENTRY(at, struct route, link)->number;
    place *= 10;
  }
  EXPECT(forwards, backwards);
  return forwards;
}

static void lists(void) {
  struct route all[6];
  for (int i = 0; i < 6; ++i) all[i].number = i;
  EXPECT(digits_of(&routes), 0);
  readmost_rcu_list_insert_before(&routes, &all[3].link);
  readmost_rcu_list_insert_after(&routes, &all[1].link);
  readmost_rcu_list_insert_after(&all[1].link, &all[2].link);
  readmost_rcu_list_insert_before(&routes, &all[4].link);
  EXPECT(digits_of(&routes), 1234);
  readmost_rcu_list_erase(&all[2].link);
  readmost_rcu_list_erase(&all[4].link);
  EXPECT(digits_of(&routes), 13);
  /* A reader that stands on an erased element goes on from there. */
  EXPECT(READMOST_RCU_ENTRY(readmost_rcu_list_next(&all[2].link), struct route, link)->number, 3);
  readmost_rcu_list_replace(&all[1].link, &all[5].link);
  EXPECT(digits_of(&routes), 53);
  EXPECT(readmost_rcu_list_next(&all[1].link) == &all[3].link, 1);
  readmost_rcu_list_init(&routes);
  EXPECT(readmost_rcu_list_next(&routes) == &routes, 1);
}

int main(void) {
  lists();
  readmost_rcu_domain_t* domain;
  readmost_rcu_domain_t* in_place;
  use(NULL);
  EXPECT(readmost_rcu_domain_create(&domain), 0);
  use(domain);
  apart(domain, NULL);
  apart(NULL, domain);
  EXPECT(readmost_rcu_domain_create(&in_place), 0);
  EXPECT(readmost_rcu_reclaim_by(in_place, READMOST_RCU_IN_PLACE), 0);
  sections(in_place);
  grace_periods(in_place);
  calls(in_place);
  together(in_place);
  apart(domain, in_place);
  readmost_rcu_domain_t* on_request;
  EXPECT(readmost_rcu_domain_create(&on_request), 0);
  EXPECT(readmost_rcu_reclaim_by(on_request, READMOST_RCU_ON_REQUEST), 0);
  calls(on_request);
  sum = 0;
  call(on_request, 1, 0);
  EXPECT(sum, 0);
  while (readmost_rcu_reclaim(on_request)) continue;
  EXPECT(sum, 1);
  EXPECT(readmost_rcu_domain_destroy(on_request), 0);
  EXPECT(readmost_rcu_domain_destroy(domain), 0);
  /* Destroying the domain reclaims what is still waiting. */
  sum = 0;
  call(in_place, 1, 0);
  EXPECT(readmost_rcu_domain_destroy(in_place), 0);
  EXPECT(sum, 1);
  return 0;
}
