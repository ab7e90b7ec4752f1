// Uses a reader-writer lock in a known number of ways and prints that number.
#include <pthread.h>

#include <cstdio>
#include <thread>
#include <vector>

int main() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
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
