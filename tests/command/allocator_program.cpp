// SPDX-License-Identifier: Apache-2.0
// Replaces malloc by one that guards a counter with a reader-writer lock, so that a lock that
// allocates memory would deadlock. Prints whether the count is right.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t size);
void __libc_free(void* memory);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
long allocations = 0;

void count_one() {
  pthread_rwlock_wrlock(&guard);
  ++allocations;
  pthread_rwlock_unlock(&guard);
}

long counted() {
  pthread_rwlock_rdlock(&guard);
  const long count = allocations;
  pthread_rwlock_unlock(&guard);
  return count;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  count_one();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_one();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  count_one();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count_one();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) {
  counted();
  __libc_free(memory);
}

}  // extern "C"

int main() {
  alarm(15);  // in case a lock deadlocks with itself
  constexpr int threads = 4;
  constexpr int rounds = 500;
  constexpr int held_at_once = 20;
  const long before = counted();
  {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([] {
        for (int round = 0; round < rounds; ++round) {
          // New locks, many of them held by one thread at once.
          auto* const locks = new pthread_rwlock_t[held_at_once];
          for (int j = 0; j < held_at_once; ++j) {
            pthread_rwlock_init(&locks[j], nullptr);
            pthread_rwlock_rdlock(&locks[j]);
          }
          for (int j = 0; j < held_at_once; ++j) {
            pthread_rwlock_unlock(&locks[j]);
            pthread_rwlock_destroy(&locks[j]);
          }
          delete[] locks;
        }
      });
    }
    for (std::thread& one : all) one.join();
  }
  const long made = counted() - before;
  std::puts(made >= threads * rounds ? "all allocations are counted" : "allocations are missing");
  return 0;
}
