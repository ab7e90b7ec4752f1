// SPDX-License-Identifier: Apache-2.0
/* A program in plain C that uses every function of readmost.h; silent when all behave as
 * documented. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <pthread.h>
#include <readmost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"

enum {
  reads_that_earn_bias = 20000,
  crowd_size = 4,
  crowd_turns = 500,
  generous = 60, /* seconds; nothing here takes as long */
};

static struct timespec in_time(clockid_t clock) {
  struct timespec until;
  EXPECT(clock_gettime(clock, &until), 0);
  until.tv_sec += generous;
  return until;
}

static const struct timespec long_ago = {1, 0};

/* --- What other threads get ------------------------------------------------------------------- */

typedef int operation(readmost_rwlock_t* lock);

struct order {
  operation* what;
  readmost_rwlock_t* lock;
  int result;
};

static void* carry_out(void* argument) {
  struct order* order = argument;
  order->result = order->what(order->lock);
  return NULL;
}

static int by_another_thread(operation* what, readmost_rwlock_t* lock) {
  struct order order = {what, lock, -1};
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, carry_out, &order), 0);
  EXPECT(pthread_join(thread, NULL), 0);
  return order.result;
}

static int release_read(readmost_rwlock_t* lock, int result) {
  if (result == 0) EXPECT(readmost_rwlock_rdunlock(lock), 0);
  return result;
}

static int release_write(readmost_rwlock_t* lock, int result) {
  if (result == 0) EXPECT(readmost_rwlock_wrunlock(lock), 0);
  return result;
}

static int release_upgraded(readmost_rwlock_t* lock, int result) {
  EXPECT(result == 0 ? readmost_rwlock_wrunlock(lock) : readmost_rwlock_rdunlock(lock), 0);
  return result;
}

static int try_to_read(readmost_rwlock_t* lock) {
  return release_read(lock, readmost_rwlock_tryrdlock(lock));
}

static int read_too_late(readmost_rwlock_t* lock) {
  EXPECT(release_read(lock, readmost_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &long_ago)),
         ETIMEDOUT);
  return release_read(lock, readmost_rwlock_timedrdlock(lock, &long_ago));
}

static int try_to_write(readmost_rwlock_t* lock) {
  return release_write(lock, readmost_rwlock_trywrlock(lock));
}

static int write_too_late(readmost_rwlock_t* lock) {
  EXPECT(release_write(lock, readmost_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &long_ago)),
         ETIMEDOUT);
  return release_write(lock, readmost_rwlock_timedwrlock(lock, &long_ago));
}

static int try_to_upgrade(readmost_rwlock_t* lock) {
  EXPECT(readmost_rwlock_tryrdlock(lock), 0);
  return release_upgraded(lock, readmost_rwlock_tryupgrade(lock));
}

static int upgrade_too_late(readmost_rwlock_t* lock) {
  EXPECT(readmost_rwlock_tryrdlock(lock), 0);
  return release_upgraded(lock, readmost_rwlock_clockupgrade(lock, CLOCK_REALTIME, &long_ago));
}

/* --- One thread at a time --------------------------------------------------------------------- */

static void read_it(readmost_rwlock_t* lock) {
  const struct timespec wall = in_time(CLOCK_REALTIME);
  const struct timespec monotonic = in_time(CLOCK_MONOTONIC);
  EXPECT(readmost_rwlock_rdlock(lock), 0);
  EXPECT(readmost_rwlock_tryrdlock(lock), 0);
  EXPECT(readmost_rwlock_timedrdlock(lock, &wall), 0);
  EXPECT(readmost_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &monotonic), 0);
  for (int holds = 4; holds > 0; --holds) {
    EXPECT(by_another_thread(try_to_read, lock), 0);
    EXPECT(by_another_thread(try_to_write, lock), EBUSY);
    EXPECT(by_another_thread(write_too_late, lock), ETIMEDOUT);
    EXPECT(by_another_thread(try_to_upgrade, lock), EBUSY);
    EXPECT(by_another_thread(upgrade_too_late, lock), ETIMEDOUT);
    EXPECT(readmost_rwlock_rdunlock(lock), 0);
  }
  EXPECT(by_another_thread(try_to_write, lock), 0);
}

static void expect_closed(readmost_rwlock_t* lock) {
  EXPECT(by_another_thread(try_to_read, lock), EBUSY);
  EXPECT(by_another_thread(read_too_late, lock), ETIMEDOUT);
  EXPECT(by_another_thread(try_to_write, lock), EBUSY);
  EXPECT(by_another_thread(write_too_late, lock), ETIMEDOUT);
}

static void write_it(readmost_rwlock_t* lock) {
  const struct timespec wall = in_time(CLOCK_REALTIME);
  const struct timespec monotonic = in_time(CLOCK_MONOTONIC);
  EXPECT(readmost_rwlock_wrlock(lock), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_wrunlock(lock), 0);
  EXPECT(readmost_rwlock_trywrlock(lock), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_wrunlock(lock), 0);
  EXPECT(readmost_rwlock_timedwrlock(lock, &wall), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_wrunlock(lock), 0);
  EXPECT(readmost_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &monotonic), 0);
  expect_closed(lock);
  EXPECT(by_another_thread(readmost_rwlock_wrunlock, lock), 0);
  EXPECT(by_another_thread(try_to_read, lock), 0);
}

static void change_it(readmost_rwlock_t* lock) {
  const struct timespec monotonic = in_time(CLOCK_MONOTONIC);
  EXPECT(readmost_rwlock_rdlock(lock), 0);
  EXPECT(readmost_rwlock_upgrade(lock), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_downgrade(lock), 0);
  EXPECT(by_another_thread(try_to_read, lock), 0);
  EXPECT(by_another_thread(try_to_write, lock), EBUSY);
  EXPECT(readmost_rwlock_tryupgrade(lock), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_downgrade(lock), 0);
  EXPECT(readmost_rwlock_clockupgrade(lock, CLOCK_MONOTONIC, &monotonic), 0);
  expect_closed(lock);
  EXPECT(readmost_rwlock_wrunlock(lock), 0);
  EXPECT(by_another_thread(try_to_write, lock), 0);
}

/* --- Several threads at once ------------------------------------------------------------------ */

struct crowd {
  readmost_rwlock_t* lock;
  pthread_barrier_t start;
  long left, right; /* equal except during a write */
  int upgraded, refused;
};

static void together(void* (*what)(void*), struct crowd* crowd, unsigned size) {
  pthread_t threads[crowd_size];
  EXPECT(pthread_barrier_init(&crowd->start, NULL, size), 0);
  for (unsigned i = 0; i < size; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, what, crowd), 0);
  }
  for (unsigned i = 0; i < size; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  EXPECT(pthread_barrier_destroy(&crowd->start), 0);
}

static void add_one(struct crowd* crowd) {
  ++crowd->left;
  ++crowd->right;
  EXPECT(readmost_rwlock_wrunlock(crowd->lock), 0);
}

static void* read_and_write(void* argument) {
  struct crowd* crowd = argument;
  readmost_rwlock_t* lock = crowd->lock;
  pthread_barrier_wait(&crowd->start);
  for (int turn = 0; turn < crowd_turns; ++turn) {
    for (int reads = 0; reads < 20; ++reads) {
      EXPECT(readmost_rwlock_rdlock(lock), 0);
      EXPECT(crowd->left, crowd->right);
      EXPECT(readmost_rwlock_rdunlock(lock), 0);
    }
    EXPECT(readmost_rwlock_wrlock(lock), 0);
    add_one(crowd);
    EXPECT(readmost_rwlock_rdlock(lock), 0);
    const long seen = crowd->left;
    const int result = readmost_rwlock_upgrade(lock);
    if (result == 0) {
      EXPECT(crowd->left, seen);
    } else {
      EXPECT(result, EDEADLK);
      EXPECT(readmost_rwlock_rdunlock(lock), 0);
      EXPECT(readmost_rwlock_wrlock(lock), 0);
    }
    add_one(crowd);
  }
  return NULL;
}

static void* upgrade_beside_another(void* argument) {
  struct crowd* crowd = argument;
  EXPECT(readmost_rwlock_rdlock(crowd->lock), 0);
  pthread_barrier_wait(&crowd->start);
  const int result = readmost_rwlock_upgrade(crowd->lock);
  if (result == 0) {
    ++crowd->upgraded;
    EXPECT(readmost_rwlock_wrunlock(crowd->lock), 0);
  } else {
    EXPECT(result, EDEADLK);
    EXPECT(readmost_rwlock_rdunlock(crowd->lock), 0);
    EXPECT(readmost_rwlock_wrlock(crowd->lock), 0);
    ++crowd->refused;
    EXPECT(readmost_rwlock_wrunlock(crowd->lock), 0);
  }
  return NULL;
}

/* --- Every sort of lock ----------------------------------------------------------------------- */

static void read_often(readmost_rwlock_t* lock) {
  for (int i = 0; i < reads_that_earn_bias; ++i) {
    EXPECT(readmost_rwlock_rdlock(lock), 0);
    EXPECT(readmost_rwlock_rdunlock(lock), 0);
  }
}

static void use(readmost_rwlock_t* lock) {
  for (int round = 0; round < 2; ++round) {
    read_it(lock);
    write_it(lock);
    change_it(lock);
    /* In the second round the lock is biased from the start. */
    read_often(lock);
  }
  struct crowd crowd = {.lock = lock};
  together(read_and_write, &crowd, crowd_size);
  EXPECT(crowd.left, 2L * crowd_size * crowd_turns);
  together(upgrade_beside_another, &crowd, 2);
  EXPECT(crowd.upgraded, 1);
  EXPECT(crowd.refused, 1);
  EXPECT(readmost_rwlock_destroy(lock), 0);
}

static void use_with_attributes(int preference, readmost_domain_t* domain) {
  readmost_rwlockattr_t attributes;
  int preference_kept = -1;
  readmost_domain_t* domain_kept = NULL;
  EXPECT(readmost_rwlockattr_init(&attributes), 0);
  EXPECT(readmost_rwlockattr_setpreference(&attributes, preference), 0);
  EXPECT(readmost_rwlockattr_getpreference(&attributes, &preference_kept), 0);
  EXPECT(preference_kept, preference);
  EXPECT(readmost_rwlockattr_setdomain(&attributes, domain), 0);
  EXPECT(readmost_rwlockattr_getdomain(&attributes, &domain_kept), 0);
  EXPECT(domain_kept == domain, 1);

  readmost_rwlock_t lock;
  memset(&lock, 0xAA, sizeof lock);
  EXPECT(readmost_rwlock_init(&lock, &attributes), 0);
  EXPECT(readmost_rwlockattr_destroy(&attributes), 0);
  use(&lock);
}

static void release_by_another_thread(readmost_rwlock_t* lock) {
  EXPECT(readmost_rwlock_rdlock(lock), 0);
  EXPECT(readmost_rwlock_held(lock), READMOST_HELD_FOR_READING);
  EXPECT(by_another_thread(try_to_write, lock), EBUSY);
  EXPECT(by_another_thread(readmost_rwlock_rdunlock, lock), 0);
  EXPECT(by_another_thread(try_to_write, lock), 0);
  EXPECT(readmost_rwlock_destroy(lock), 0);
}

static readmost_rwlock_t for_writers = READMOST_RWLOCK_INITIALIZER;
static readmost_rwlock_t for_readers = READMOST_RWLOCK_INITIALIZER_READER;
static readmost_rwlock_t in_turns = READMOST_RWLOCK_INITIALIZER_PHASE_FAIR;

int main(void) {
  EXPECT(strcmp(readmost_version(), EXPECTED_VERSION), 0);

  readmost_online();
  use(&for_writers);
  readmost_offline();
  use(&for_readers);
  use(&in_turns);

  readmost_rwlock_t* zeroed = calloc(1, sizeof *zeroed);
  EXPECT(zeroed != NULL, 1);
  use(zeroed);
  EXPECT(readmost_rwlock_init(zeroed, NULL), 0);
  use(zeroed);
  free(zeroed);

  readmost_rwlock_t cold = READMOST_RWLOCK_INITIALIZER;
  release_by_another_thread(&cold);
  readmost_rwlock_t hot = READMOST_RWLOCK_INITIALIZER;
  read_often(&hot);
  release_by_another_thread(&hot);

  readmost_domain_t* domain;
  EXPECT(readmost_domain_create(&domain), 0);
  readmost_domain_online(domain);
  for (int preference = READMOST_PREFER_WRITER; preference <= READMOST_PREFER_PHASE_FAIR;
       ++preference) {
    use_with_attributes(preference, NULL);
    use_with_attributes(preference, domain);
  }
  readmost_domain_offline(domain);
  EXPECT(readmost_domain_destroy(domain), 0);
  return 0;
}
