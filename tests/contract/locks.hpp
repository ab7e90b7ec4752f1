// SPDX-License-Identifier: Apache-2.0
// The locks under test, functions that bring them into a given state, and the family's operations
// by name.
#pragma once

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <ostream>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

namespace contract {

// A lock made by pthread_rwlock_init, whose attributes object is destroyed right afterwards.
class rwlock {
 public:
  explicit rwlock(int kind = PTHREAD_RWLOCK_DEFAULT_NP, int shared = PTHREAD_PROCESS_PRIVATE) {
    init(&lock_, kind, shared);
  }
  rwlock(const rwlock&) = delete;
  rwlock& operator=(const rwlock&) = delete;
  ~rwlock() { pthread_rwlock_destroy(&lock_); }

  operator pthread_rwlock_t*() { return &lock_; }

  static void init(pthread_rwlock_t* lock, int kind, int shared);

 private:
  pthread_rwlock_t lock_;
};

// The lock inside libstdc++'s mutex, which returns it as a void*.
inline pthread_rwlock_t* lock_of(std::shared_mutex& mutex) {
  return static_cast<pthread_rwlock_t*>(mutex.native_handle());
}

// After this many reads, a lock that optimises for read-mostly use does so.
inline constexpr int hot_reads = 50'000;
void make_hot(pthread_rwlock_t* lock);

// The lock kinds, cold and hot, for which a rule is checked.
struct variant {
  int kind;
  bool hot;
};
std::ostream& operator<<(std::ostream& out, const variant& v);
std::vector<variant> variants(std::initializer_list<int> kinds);
void prepare(pthread_rwlock_t* lock, const variant& v);

// The state of a lock as seen by a thread that holds nothing and tries it.
enum class holding { free, read, written };
std::ostream& operator<<(std::ostream& out, holding h);
holding seen_here(pthread_rwlock_t* lock);
holding seen_elsewhere(pthread_rwlock_t* lock);

// Constant data, because destructors use them after main as well.
struct timed_operation {
  const char* name;
  bool writes;
  clockid_t clock;
  int (*call)(pthread_rwlock_t*, const timespec*);
};
std::span<const timed_operation> timed_operations();

struct untimed_operation {
  const char* name;
  bool writes;
  bool tries;
  int (*call)(pthread_rwlock_t*);
};
std::span<const untimed_operation> untimed_operations();

timespec in(clockid_t clock, std::chrono::milliseconds time);
// A timeout that never expires while the lock is available.
inline constexpr std::chrono::seconds generous_wait{15};

bool reached(clockid_t clock, const timespec& deadline);
inline constexpr timespec before_the_epoch{-1, 0};

// Calls a timed operation with a deadline `time` from now.
int call_for(const timed_operation& operation, pthread_rwlock_t* lock,
             std::chrono::milliseconds time);

}  // namespace contract
