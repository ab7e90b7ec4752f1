// SPDX-License-Identifier: Apache-2.0
// Uses a reader-writer lock in a known number of ways and prints that number. With an argument it
// forks as many children first, which read the lock a hundred times and leave.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  if (argc > 1) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
  for (int children = argc > 1 ? std::atoi(argv[1]) : 0; children > 0; --children) {
    if (fork() != 0) continue;
    for (int read = 0; read < 100; ++read) {
      pthread_rwlock_rdlock(&lock);
      pthread_rwlock_unlock(&lock);
    }
    return 0;
  }
  while (wait(nullptr) > 0) {
  }
  constexpr int reads_per_thread = 1000;
  long guarded = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      for (int read = 0; read < reads_per_thread; ++read) {
        pthread_rwlock_rdlock(&lock);
        const long seen = guarded;
        pthread_rwlock_unlock(&lock);
        if (seen < 0) return;
      }
    });
  }
  for (int write = 0; write < 10; ++write) {
    pthread_rwlock_wrlock(&lock);
    ++guarded;
    pthread_rwlock_unlock(&lock);
  }
  for (std::thread& reader : readers) reader.join();
  std::printf("writes: %ld\n", guarded);
  return pthread_rwlock_destroy(&lock);
}
