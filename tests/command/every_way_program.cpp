// SPDX-License-Identifier: Apache-2.0
// Uses pthread's reader-writer locks in every way that all locks of READMOST_LOCK must support, and
// prints the first fault, or whether the lock itself or a substitute was used.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

timespec in(clockid_t clock, std::chrono::nanoseconds time) {
  timespec at;
  clock_gettime(clock, &at);
  const long long nanoseconds = at.tv_nsec + time.count();
  at.tv_sec += nanoseconds / 1'000'000'000;
  at.tv_nsec = nanoseconds % 1'000'000'000;
  return at;
}

template <class Call>
int elsewhere(Call call) {
  int result = 0;
  std::thread([&] { result = call(); }).join();
  return result;
}

bool is_free(pthread_rwlock_t* lock) {
  return elsewhere([&] {
           const int result = pthread_rwlock_trywrlock(lock);
           if (result == 0) pthread_rwlock_unlock(lock);
           return result;
         }) == 0;
}

// Writers exclude all others, readers see complete writes, and no thread hangs, with more threads
// than CPUs.
void exclusion() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static long left = 0, right = 0;
  static std::atomic<long> writes{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 2 * std::thread::hardware_concurrency() + 2; ++seed) {
    threads.emplace_back([seed] {
      unsigned random = seed + 1;
      const auto end = std::chrono::steady_clock::now() + 150ms;
      while (std::chrono::steady_clock::now() < end) {
        random = random * 1664525 + 1013904223;
        const unsigned drawn = random >> 16;
        const bool waits_for_ever = drawn % 4 != 0;
        if (drawn % 13 == 0) {
          const timespec soon = in(CLOCK_REALTIME, 1ms);
          const int result = waits_for_ever ? pthread_rwlock_wrlock(&lock)
                                            : pthread_rwlock_timedwrlock(&lock, &soon);
          if (result == ETIMEDOUT) continue;
          expect(result == 0, "a write lock fails");
          const long seen = left;
          left = seen + 1;
          if (drawn % 11 == 0) std::this_thread::yield();
          expect(right == seen, "a writer is not alone");
          right = seen + 1;
          ++writes;
        } else {
          const int result =
              waits_for_ever ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_tryrdlock(&lock);
          if (result == EBUSY) continue;
          expect(result == 0, "a read lock fails");
          const long seen = left;
          if (drawn % 61 == 0) std::this_thread::yield();
          expect(right == seen, "a reader sees half a write");
        }
        expect(pthread_rwlock_unlock(&lock) == 0, "an unlock fails");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(left == writes && right == writes, "a write is lost");
  expect(is_free(&lock), "a lock is left held");
}

void trying_and_waiting() {
  pthread_rwlock_t lock;
  expect(pthread_rwlock_init(&lock, nullptr) == 0, "init fails");
  const auto tries = [&](auto call) { return elsewhere([&] { return call(&lock); }); };
  const auto waits = [&](auto call, clockid_t clock) {
    return elsewhere([&] {
      const timespec at = in(clock, 20ms);
      const int result = call(&lock, &at);
      expect(result != ETIMEDOUT || in(clock, 0ms).tv_sec > at.tv_sec ||
                 (in(clock, 0ms).tv_sec == at.tv_sec && in(clock, 0ms).tv_nsec >= at.tv_nsec),
             "a timed wait ends early");
      return result;
    });
  };
  const auto clock_rdlock = [](pthread_rwlock_t* l, const timespec* at) {
    return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, at);
  };
  const auto clock_wrlock = [](pthread_rwlock_t* l, const timespec* at) {
    return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, at);
  };

  expect(pthread_rwlock_wrlock(&lock) == 0, "wrlock fails");
  expect(pthread_rwlock_wrlock(&lock) == EDEADLK, "the writer write-locks again");
  expect(pthread_rwlock_rdlock(&lock) == EDEADLK, "the writer read-locks");
  expect(pthread_rwlock_trywrlock(&lock) == EBUSY, "the writer tries to write again");
  expect(pthread_rwlock_tryrdlock(&lock) == EBUSY, "the writer tries to read");
  expect(tries(pthread_rwlock_tryrdlock) == EBUSY, "a reader beside a writer");
  expect(tries(pthread_rwlock_trywrlock) == EBUSY, "a writer beside a writer");
  expect(waits(pthread_rwlock_timedrdlock, CLOCK_REALTIME) == ETIMEDOUT, "timedrdlock");
  expect(waits(pthread_rwlock_timedwrlock, CLOCK_REALTIME) == ETIMEDOUT, "timedwrlock");
  expect(waits(clock_rdlock, CLOCK_MONOTONIC) == ETIMEDOUT, "clockrdlock");
  expect(waits(clock_wrlock, CLOCK_MONOTONIC) == ETIMEDOUT, "clockwrlock");
  const timespec bad{0, 1'000'000'000};
  expect(pthread_rwlock_timedrdlock(&lock, &bad) == EINVAL, "a bad time to read");
  expect(pthread_rwlock_clockwrlock(&lock, 99, &bad) == EINVAL, "a bad clock to write");
  pthread_rwlock_unlock(&lock);

  expect(pthread_rwlock_rdlock(&lock) == 0, "rdlock fails");
  expect(tries(pthread_rwlock_trywrlock) == EBUSY, "a writer beside a reader");
  expect(waits(pthread_rwlock_timedwrlock, CLOCK_REALTIME) == ETIMEDOUT, "a timed writer");
  expect(waits(clock_wrlock, CLOCK_MONOTONIC) == ETIMEDOUT, "a timed writer by another clock");
  pthread_rwlock_unlock(&lock);

  const auto released = [&](auto call, clockid_t clock) {
    return elsewhere([&] {
      const timespec at = in(clock, 20ms);
      const int result = call(&lock, &at);
      if (result == 0) pthread_rwlock_unlock(&lock);
      return result;
    });
  };
  expect(released(pthread_rwlock_timedrdlock, CLOCK_REALTIME) == 0, "timedrdlock of a free lock");
  expect(released(pthread_rwlock_timedwrlock, CLOCK_REALTIME) == 0, "timedwrlock of a free lock");
  expect(released(clock_rdlock, CLOCK_MONOTONIC) == 0, "clockrdlock of a free lock");
  expect(released(clock_wrlock, CLOCK_MONOTONIC) == 0, "clockwrlock of a free lock");
  expect(is_free(&lock), "a lock is left held by who only tried");
  expect(pthread_rwlock_destroy(&lock) == 0, "destroy fails");
}

// A thread holds many locks at once and releases them in any order.
void many_locks() {
  constexpr std::size_t count = 100;
  std::vector<pthread_rwlock_t> locks(count, pthread_rwlock_t PTHREAD_RWLOCK_INITIALIZER);
  for (std::size_t i = 0; i < count; ++i) {
    expect((i % 3 == 0 ? pthread_rwlock_wrlock(&locks[i]) : pthread_rwlock_rdlock(&locks[i])) == 0,
           "one of many locks cannot be had");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t next = i * 37 % count;
    expect(!is_free(&locks[next]), "one of many locks is not held");
    pthread_rwlock_unlock(&locks[next]);
    expect(is_free(&locks[next]), "one of many locks is not released");
  }
  for (pthread_rwlock_t& lock : locks) pthread_rwlock_destroy(&lock);
}

// Initialises a lock in the same memory repeatedly, whether or not the previous one was destroyed.
void lives() {
  pthread_rwlock_t lock;
  for (int life = 0; life < 5'000; ++life) {
    std::memset(&lock, life, sizeof lock);
    pthread_rwlock_init(&lock, nullptr);
    expect(pthread_rwlock_trywrlock(&lock) == 0, "a lock is not free at first");
    pthread_rwlock_unlock(&lock);
    expect(pthread_rwlock_tryrdlock(&lock) == 0, "a lock is not free after its writer");
    if (life % 2 == 0) pthread_rwlock_unlock(&lock);
    if (life % 3 != 0) pthread_rwlock_destroy(&lock);
  }
  alignas(std::shared_mutex) unsigned char memory[sizeof(std::shared_mutex)];
  for (int life = 0; life < 5'000; ++life) {
    auto* const mutex = new (memory) std::shared_mutex;
    expect(mutex->try_lock(), "a std::shared_mutex is not free at first");
    mutex->unlock();
    std::destroy_at(mutex);
  }
}

// A process-shared lock excludes across processes.
void two_processes() {
  auto* const lock =
      static_cast<pthread_rwlock_t*>(mmap(nullptr, sizeof(pthread_rwlock_t), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_rwlockattr_t shared;
  pthread_rwlockattr_init(&shared);
  pthread_rwlockattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(lock, &shared);
  pthread_rwlock_wrlock(lock);
  pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_rdlock(&own);
  pthread_rwlock_unlock(&own);
  const pid_t child = fork();
  if (child == 0) {
    const bool busy = pthread_rwlock_tryrdlock(lock) == EBUSY;
    // Locks that were free before the fork are free in the child.
    const bool works = pthread_rwlock_wrlock(&own) == 0 && pthread_rwlock_unlock(&own) == 0 &&
                       pthread_rwlock_rdlock(&own) == 0 && pthread_rwlock_unlock(&own) == 0;
    _exit(busy ? works ? 0 : 2 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(status == 0, WEXITSTATUS(status) == 1 ? "a shared lock does not exclude another process"
                                               : "a lock is not free in the child");
  pthread_rwlock_unlock(lock);
  expect(pthread_rwlock_tryrdlock(lock) == 0, "a shared lock is not released");
  pthread_rwlock_unlock(lock);
  pthread_rwlock_destroy(lock);
}

// Whether the library allocated a substitute for the program's lock, which then points to it.
bool is_made_elsewhere() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  void* made = nullptr;
  std::memcpy(&made, reinterpret_cast<char*>(&lock) + 8, sizeof made);
  return made != nullptr;
}

}  // namespace

int main() {
  alarm(50);
  trying_and_waiting();
  many_locks();
  lives();
  two_processes();
  exclusion();
  std::printf("every way works over %s\n",
              is_made_elsewhere() ? "a lock made for it" : "the lock itself");
  return 0;
}
