// SPDX-License-Identifier: Apache-2.0
// Uses locks in several places a known number of times. With a file name as argument it then writes
// that file and keeps reading until it is killed.
#include <pthread.h>

#include <fstream>
#include <memory>

namespace places {

pthread_rwlock_t routes = PTHREAD_RWLOCK_INITIALIZER;
// The locks lie in one zero-filled page, so that some share a slot of the thread's record.
struct {
  char before[40];
  pthread_rwlock_t locks[32];
} shard_table;

void read(pthread_rwlock_t& lock, int times) {
  for (int i = 0; i < times; ++i) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
}

void write(pthread_rwlock_t& lock, int times) {
  for (int i = 0; i < times; ++i) {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
}

}  // namespace places

int main(int argc, char** argv) {
  places::write(places::routes, 10);
  places::read(places::routes, 100'000);
  for (int round = 0; round < 1'000; ++round) {
    for (pthread_rwlock_t& shard : places::shard_table.locks) {
      places::read(shard, 2);
      if (round % 100 == 0) places::write(shard, 1);
    }
  }
  const auto on_the_heap = std::make_unique<pthread_rwlock_t>();
  *on_the_heap = PTHREAD_RWLOCK_INITIALIZER;
  places::write(*on_the_heap, 5'000);
  if (argc < 2) return 0;
  std::ofstream(argv[1]) << "ready\n";
  for (;;) places::read(places::routes, 1'000);
}
