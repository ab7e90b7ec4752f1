/* The C functions in a program of plain C: threads write by upgrade and read. */
#include <pthread.h>
#include <readmost.h>
#include <stdio.h>

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

int main(void) {
  pthread_t thread;
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
