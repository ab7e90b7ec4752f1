// SPDX-License-Identifier: Apache-2.0
/* What a program of musl expects of its pthread_rwlock_t: run by itself it checks musl, with
 * Readmost's library preloaded it checks that. With the argument `readmost` it also fails unless
 * the library is there. Plain C, so that any compiler for musl builds it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define EXPECT(expression, wanted)                                                        \
  do {                                                                                    \
    const long got = (long)(expression);                                                  \
    if (got != (long)(wanted)) {                                                          \
      fprintf(stderr, "%s:%d: %s is %ld, not %s\n", __FILE__, __LINE__, #expression, got, \
              #wanted);                                                                   \
      ++failures;                                                                         \
    }                                                                                     \
  } while (0)

static struct timespec soon(void) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 20 * 1000 * 1000;
  if (at.tv_nsec >= 1000 * 1000 * 1000) {
    at.tv_nsec -= 1000 * 1000 * 1000;
    ++at.tv_sec;
  }
  return at;
}

/* Calls run(argument) in a thread of its own, to its end. */
static void in_a_thread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, run, argument), 0);
  EXPECT(pthread_join(thread, NULL), 0);
}

static void* finds_a_reader(void* lock) {
  const struct timespec until = soon();
  struct timespec never = until;
  never.tv_nsec = -1;
  EXPECT(pthread_rwlock_tryrdlock(lock), 0);
  EXPECT(pthread_rwlock_unlock(lock), 0);
  EXPECT(pthread_rwlock_trywrlock(lock), EBUSY);
  EXPECT(pthread_rwlock_timedwrlock(lock, &until), ETIMEDOUT);
  EXPECT(pthread_rwlock_timedwrlock(lock, &never), EINVAL);
  return NULL;
}

static void* finds_a_writer(void* lock) {
  const struct timespec until = soon();
  EXPECT(pthread_rwlock_tryrdlock(lock), EBUSY);
  EXPECT(pthread_rwlock_trywrlock(lock), EBUSY);
  EXPECT(pthread_rwlock_timedrdlock(lock, &until), ETIMEDOUT);
  return NULL;
}

static void one_lock(pthread_rwlock_t* lock) {
  /* Often enough for the lock to become fast for readers, and for that to be taken away. */
  for (int round = 0; round < 3; ++round) {
    for (int read = 0; read < 1000; ++read) {
      EXPECT(pthread_rwlock_rdlock(lock), 0);
      EXPECT(pthread_rwlock_rdlock(lock), 0);
      EXPECT(pthread_rwlock_unlock(lock), 0);
      EXPECT(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT(pthread_rwlock_rdlock(lock), 0);
    in_a_thread(finds_a_reader, lock);
    EXPECT(pthread_rwlock_unlock(lock), 0);
    EXPECT(pthread_rwlock_wrlock(lock), 0);
    in_a_thread(finds_a_writer, lock);
    EXPECT(pthread_rwlock_unlock(lock), 0);
  }
}

static pthread_rwlock_t initialised = PTHREAD_RWLOCK_INITIALIZER;

static void initialisation(void) {
  one_lock(&initialised);
  pthread_rwlock_t lock;
  pthread_rwlockattr_t attributes;
  int shared = -1;
  memset(&lock, 0xff, sizeof lock);
  EXPECT(pthread_rwlockattr_init(&attributes), 0);
  EXPECT(pthread_rwlockattr_getpshared(&attributes, &shared), 0);
  EXPECT(shared, PTHREAD_PROCESS_PRIVATE);
  EXPECT(pthread_rwlock_init(&lock, &attributes), 0);
  one_lock(&lock);
  EXPECT(pthread_rwlock_destroy(&lock), 0);
  EXPECT(pthread_rwlock_init(&lock, NULL), 0);
  one_lock(&lock);
  EXPECT(pthread_rwlock_destroy(&lock), 0);
}

static struct {
  pthread_rwlock_t lock;
  char after[8];
} last = {PTHREAD_RWLOCK_INITIALIZER, "guarded"};

/* Nothing behind the lock is written. */
static void extent(void) {
  one_lock(&last.lock);
  EXPECT(strcmp(last.after, "guarded"), 0);
}

static pthread_rwlock_t counted_lock = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void* reads_and_writes(void* unused) {
  for (int turn = 0; turn < 20000; ++turn) {
    if (turn % 50 == 0) {
      pthread_rwlock_wrlock(&counted_lock);
      ++left;
      ++right;
    } else {
      pthread_rwlock_rdlock(&counted_lock);
      if (left != right) abort();
    }
    pthread_rwlock_unlock(&counted_lock);
  }
  return unused;
}

static void exclusion(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT(pthread_create(&threads[i], NULL, reads_and_writes, NULL), 0);
  for (int i = 0; i < 4; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  EXPECT(left, 4 * 20000 / 50);
}

static void* leaves_with_a_hold(void* lock) {
  EXPECT(pthread_rwlock_rdlock(lock), 0);
  return NULL;
}

static void holds_of_others(void) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int read = 0; read < 1000; ++read) {
    EXPECT(pthread_rwlock_rdlock(&lock), 0);
    EXPECT(pthread_rwlock_unlock(&lock), 0);
  }
  in_a_thread(leaves_with_a_hold, &lock);
  EXPECT(pthread_rwlock_trywrlock(&lock), EBUSY);
  EXPECT(pthread_rwlock_unlock(&lock), 0);
  EXPECT(pthread_rwlock_trywrlock(&lock), 0);
  EXPECT(pthread_rwlock_unlock(&lock), 0);
}

/* The exit status of a child that runs this. */
static int in_a_child(int (*run)(void*), void* argument) {
  const pid_t child = fork();
  if (child == 0) _exit(run(argument));
  int status = -1;
  EXPECT(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int writes_and_reads(void* lock) {
  return pthread_rwlock_wrlock(lock) || pthread_rwlock_unlock(lock) ||
         pthread_rwlock_rdlock(lock) || pthread_rwlock_unlock(lock);
}

static int finds_it_busy(void* lock) {
  return pthread_rwlock_trywrlock(lock) == EBUSY ? 0 : 1;
}

static void forks(void) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  one_lock(&lock);
  EXPECT(in_a_child(writes_and_reads, &lock), 0);
  EXPECT(pthread_rwlock_rdlock(&lock), 0);
  EXPECT(in_a_child(finds_it_busy, &lock), 0);
  EXPECT(pthread_rwlock_unlock(&lock), 0);
}

/* musl serves these, also with Readmost preloaded: processes see one another's holds. */
static void process_shared(void) {
  pthread_rwlock_t* const lock =
      mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_rwlockattr_t attributes;
  EXPECT(lock == MAP_FAILED, 0);
  EXPECT(pthread_rwlockattr_init(&attributes), 0);
  EXPECT(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
  EXPECT(pthread_rwlock_init(lock, &attributes), 0);
  one_lock(lock);
  EXPECT(pthread_rwlock_wrlock(lock), 0);
  EXPECT(in_a_child(finds_it_busy, lock), 0);
  EXPECT(pthread_rwlock_unlock(lock), 0);
  EXPECT(in_a_child(writes_and_reads, lock), 0);
  EXPECT(pthread_rwlock_trywrlock(lock), 0);
  EXPECT(pthread_rwlock_unlock(lock), 0);
  EXPECT(pthread_rwlock_destroy(lock), 0);
  munmap(lock, sizeof *lock);
}

/* Only Readmost tells a writer that it would wait for itself. */
static void self_deadlock(void) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  EXPECT(pthread_rwlock_wrlock(&lock), 0);
  EXPECT(pthread_rwlock_wrlock(&lock), EDEADLK);
  EXPECT(pthread_rwlock_rdlock(&lock), EDEADLK);
  EXPECT(pthread_rwlock_unlock(&lock), 0);
}

int main(int argc, char** argv) {
  const int with_readmost = argc > 1 && strcmp(argv[1], "readmost") == 0;
  EXPECT(dlsym(RTLD_DEFAULT, "readmost_introspection") != NULL, with_readmost);
  alarm(60);
  initialisation();
  extent();
  exclusion();
  holds_of_others();
  forks();
  process_shared();
  if (with_readmost) self_deadlock();
  if (failures == 0) printf("%s: as expected\n", with_readmost ? "Readmost" : "musl");
  return failures == 0 ? 0 : 1;
}
