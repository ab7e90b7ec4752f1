// SPDX-License-Identifier: Apache-2.0
// A separate program for what a test inside gtest cannot observe: the whole life of a process from
// before main to after it, its final counts, and its environment.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "locks.hpp"
#include "support/helper_thread.hpp"

namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
bool report = false;

// Calls every operation on a cold and on a hot lock, and prints the name of the stage on success.
void use_lock(const char* stage) {
  for (int round = 0; round < 2; ++round) {
    for (const auto& operation : contract::untimed_operations()) {
      if (operation.call(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0) {
        std::fprintf(stderr, "probe: %s fails in the %s\n", operation.name, stage);
        _exit(1);
      }
    }
    contract::make_hot(&lock);
  }
  if (report) {
    std::printf("%s\n", stage);
    std::fflush(stdout);
  }
}

// Runs before every constructor, glibc's own included, when even the environment is not set up.
void before_all(int argc, char** argv, char**) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  report = what == "lifetime";
  if (!report && what != "early-newcomer") return;
  for (int i = 0; i < contract::hot_reads; ++i) {
    if (pthread_rwlock_rdlock(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0) _exit(1);
  }
  if (pthread_rwlock_wrlock(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0) _exit(1);
}
__attribute__((section(".preinit_array"), used)) void (*preinit)(int, char**, char**) = before_all;

__attribute__((constructor(101))) void construct() {
  use_lock("constructor");
}
__attribute__((destructor(101))) void destruct() {
  use_lock("destructor");
}

struct global {
  global() { use_lock("constructor of a static object"); }
  ~global() { use_lock("destructor of a static object"); }
} object;

struct thread_object {
  ~thread_object() { use_lock("destructor of a thread_local object"); }
};

pthread_key_t key;
thread_local int round_of_key = 0;

// Sets the key's value again, so that all destructor rounds that glibc allows take place.
void destroy_key(void* value) {
  char stage[64];
  std::snprintf(stage, sizeof stage, "key destructor, round %d", ++round_of_key);
  use_lock(stage);
  pthread_setspecific(key, value);
}

int lifetime() {
  use_lock("main");
  std::atexit([] { use_lock("atexit handler"); });
  pthread_key_create(&key, destroy_key);
  std::thread([] {
    thread_local thread_object t;
    static_cast<void>(t);
    use_lock("thread");
    pthread_setspecific(key, &key);
  }).join();
  return 0;
}

// Only reads, so that the final statistics show which path the reads took.
int hot() {
  contract::make_hot(&lock);
  return 0;
}

int newcomer(int kind) {
  contract::rwlock tested(kind);
  test::helper_thread writer, reader;
  pthread_rwlock_rdlock(tested);
  writer.begin([&] { return pthread_rwlock_wrlock(tested); });
  if (!writer.falls_asleep()) return 1;
  const int result = reader.call([&] {
    const int taken = pthread_rwlock_tryrdlock(tested);
    if (taken == 0) pthread_rwlock_unlock(tested);
    return taken;
  });
  std::puts(result == 0 ? "enters" : result == EBUSY ? "is kept out" : "fails");
  pthread_rwlock_unlock(tested);
  if (writer.end() != 0) return 1;
  return writer.call([&] { return pthread_rwlock_unlock(tested); });
}

// The main thread exits before the program does, with a hold that another thread releases.
int main_thread_exits() {
  contract::make_hot(&lock);
  pthread_rwlock_rdlock(&lock);
  const pthread_t first = pthread_self();
  std::thread([first] {
    pthread_join(first, nullptr);
    if (pthread_rwlock_trywrlock(&lock) != EBUSY) std::puts("the hold is lost");
    if (pthread_rwlock_unlock(&lock) != 0) std::puts("the hold is not released");
    if (pthread_rwlock_trywrlock(&lock) != 0) std::puts("the hold remains");
    if (pthread_rwlock_unlock(&lock) != 0) std::puts("the write hold is not released");
    std::puts("done");
    std::exit(0);
  }).detach();
  pthread_exit(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  alarm(30);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "lifetime") return lifetime();
  if (what == "hot") return hot();
  if ((what == "newcomer" || what == "early-newcomer") && argc > 2)
    return newcomer(std::atoi(argv[2]));
  if (what == "main-thread-exits") return main_thread_exits();
  std::fprintf(stderr,
               "probe: '%s' is unknown; use lifetime, hot, newcomer KIND, "
               "early-newcomer KIND or main-thread-exits\n",
               argc > 1 ? argv[1] : "");
  return 2;
}
