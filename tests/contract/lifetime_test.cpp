// SPDX-License-Identifier: Apache-2.0
// Locks used before main, after main, in exiting threads, and in libraries that are loaded and
// unloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "locks.hpp"
#include "probe_output.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using test::helper_thread;

struct used_before_main {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int results = 0;
  used_before_main() {
    results += pthread_rwlock_rdlock(&lock);
    results += pthread_rwlock_unlock(&lock);
    results += pthread_rwlock_wrlock(&lock);
    results += pthread_rwlock_unlock(&lock);
    contract::make_hot(&lock);
    results += pthread_rwlock_rdlock(&lock);
  }
} before_main;

TEST(lifetime, a_hold_taken_before_main_is_held_in_main) {
  EXPECT_EQ(before_main.results, 0);
  EXPECT_EQ(seen_elsewhere(&before_main.lock), holding::read);
  EXPECT_EQ(pthread_rwlock_unlock(&before_main.lock), 0);
  EXPECT_EQ(seen_elsewhere(&before_main.lock), holding::free);
  EXPECT_EQ(pthread_rwlock_rdlock(&before_main.lock), 0);
}

TEST(lifetime, locks_work_from_before_main_to_after_it) {
  std::istringstream lines(contract::probe_output({"lifetime"}, {{"CONTRACT_REPORT_LATE", "1"}}));
  std::multiset<std::string> stages;
  for (std::string line; std::getline(lines, line);) stages.insert(line);
  std::multiset<std::string> expected{
      "constructor of a library",
      "constructor",
      "constructor of a static object",
      "main",
      "thread",
      "destructor of a thread_local object",
      "atexit handler",
      "destructor of a static object",
      "destructor",
      "destructor of a library",
  };
  for (int round = 1; round <= PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    expected.insert("key destructor, round " + std::to_string(round));
  }
  EXPECT_EQ(stages, expected);
}

TEST(lifetime, the_program_goes_on_when_its_first_thread_exits_with_a_hold) {
  EXPECT_EQ(contract::probe_output({"main-thread-exits"}), "done\n");
}

struct exiting_thread {
  pthread_key_t key;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::atomic<int> rounds{0}, errors{0};
} exiting;

// Releases the hold of the previous round and takes one for the next; the last hold remains.
void pass_hold_on(void* value) {
  const int round = ++exiting.rounds;
  if (round > 1 && pthread_rwlock_unlock(&exiting.lock) != 0) ++exiting.errors;
  if (pthread_rwlock_trywrlock(&exiting.lock) != 0) ++exiting.errors;
  if (pthread_rwlock_unlock(&exiting.lock) != 0) ++exiting.errors;
  contract::make_hot(&exiting.lock);
  if (pthread_rwlock_rdlock(&exiting.lock) != 0) ++exiting.errors;
  pthread_setspecific(exiting.key, value);
}

TEST(lifetime, key_destructors_take_holds_in_every_round_and_the_last_one_stays) {
  ASSERT_EQ(pthread_key_create(&exiting.key, pass_hold_on), 0);
  for (int i = 0; i < 20; ++i) {
    exiting.rounds = 0;
    std::thread([] { pthread_setspecific(exiting.key, &exiting); }).join();
    EXPECT_EQ(exiting.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
    EXPECT_EQ(exiting.errors, 0);
    EXPECT_EQ(seen_elsewhere(&exiting.lock), holding::read);
    ASSERT_EQ(pthread_rwlock_unlock(&exiting.lock), 0);
    EXPECT_EQ(seen_elsewhere(&exiting.lock), holding::free);
  }
  EXPECT_EQ(pthread_key_delete(exiting.key), 0);
}

// Threads start and exit while a writer works: none blocks the writer, and it excludes all of them.
TEST(lifetime, threads_that_come_and_go_are_excluded_by_a_writer) {
  contract::rwlock lock;
  contract::make_hot(lock);
  std::atomic<bool> stop{false};
  std::atomic<long> errors{0};
  long left = 0, right = 0;
  std::thread writer([&] {
    while (!stop) {
      if (pthread_rwlock_wrlock(lock) != 0) ++errors;
      left = left + 1;
      right = right + 1;
      if (pthread_rwlock_unlock(lock) != 0) ++errors;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int i = 0; i < 500; ++i) {
    std::thread([&] {
      for (int reads = 0; reads < 300; ++reads) {
        if (pthread_rwlock_rdlock(lock) != 0) ++errors;
        if (left != right) ++errors;
        if (pthread_rwlock_unlock(lock) != 0) ++errors;
      }
    }).join();
  }
  stop = true;
  writer.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

using give_lock = pthread_rwlock_t* (*)();
using call_lock = int (*)(pthread_rwlock_t*);
using read_much = int (*)(pthread_rwlock_t*, int);

TEST(lifetime, a_library_opened_at_run_time_shares_locks_with_the_program) {
  contract::rwlock mine;
  for (int round = 0; round < 5; ++round) {
    void* plugin = dlopen(CONTRACT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto function = [&](const char* name) { return dlsym(plugin, name); };
    const auto lock_for_reading = reinterpret_cast<call_lock>(function("plugin_lock_for_reading"));
    const auto unlock = reinterpret_cast<call_lock>(function("plugin_unlock"));
    const auto read = reinterpret_cast<read_much>(function("plugin_read_much"));
    pthread_rwlock_t* theirs[] = {reinterpret_cast<give_lock>(function("plugin_lock"))(),
                                  reinterpret_cast<give_lock>(function("plugin_mutex"))(), mine};
    for (pthread_rwlock_t* lock : theirs) {
      EXPECT_GT(read(lock, contract::hot_reads), 0);
      contract::make_hot(lock);
      ASSERT_EQ(lock_for_reading(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::read);
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::written);
      ASSERT_EQ(unlock(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
      contract::make_hot(lock);
    }
    EXPECT_EQ(dlclose(plugin), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(mine), 0);
    EXPECT_EQ(pthread_rwlock_unlock(mine), 0);
  }
}

}  // namespace
