// SPDX-License-Identifier: Apache-2.0
#include "simulation/native/turns.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "harness/random_numbers.hpp"
#include "harness/timed_run.hpp"
#include "simulation/locks.hpp"
#include "simulation/native/instruction_count.hpp"

namespace readmost::simulation {

namespace {

// What "glibc-like" stands for.
class glibc_rwlock {
 public:
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// What "mutex" stands for.
class glibc_mutex {
 public:
  void lock() { pthread_mutex_lock(&lock_); }
  void unlock() { pthread_mutex_unlock(&lock_); }
  void lock_shared() { lock(); }
  void unlock_shared() { unlock(); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

// Takes about so many cycles: each addition needs the former one's result, also that of the last
// call, as cores run independent work at the same time. Not inlined, as a loop's speed depends on
// where it lies.
thread_local std::uint64_t sum_so_far = 0;
[[gnu::noinline, gnu::aligned(64)]] void work(std::uint64_t cycles) {
  constexpr std::uint64_t additions = 4;
  std::uint64_t sum = sum_so_far;
  std::uint64_t one = 1;
  asm volatile("" : "+r"(one));
  for (std::uint64_t left = cycles / additions; left != 0; --left) {
    for (std::uint64_t i = 0; i < additions; ++i) {
      sum += one;
      asm volatile("" : "+r"(sum));
    }
  }
  sum_so_far = sum;
}

template <class Lock>
void read(Lock& lock, std::uint64_t inside) {
  lock.lock_shared();
  work(inside);
  lock.unlock_shared();
}
template <class Lock>
void write(Lock& lock, std::uint64_t inside) {
  lock.lock();
  work(inside);
  lock.unlock();
}

// Stays on a CPU of its own, as simulated threads do, if there are enough.
void pin(unsigned thread, unsigned threads) {
  if (threads > std::thread::hardware_concurrency()) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(thread, &own);
  sched_setaffinity(0, sizeof own, &own);  // without it the figures only vary more
}

// Of one thread, by the median of short stretches: what takes the CPU from it now and then does not
// count.
template <class Operation>
double operations_per_second_of_one(std::chrono::milliseconds time, Operation operation) {
  using clock = std::chrono::steady_clock;
  constexpr unsigned stretch = 1'000;
  std::vector<double> seconds;
  std::jthread([&] {
    pin(0, 1);
    bench::random_numbers random(0);
    const clock::time_point end = clock::now() + time;
    for (clock::time_point start = clock::now(); start < end;) {
      for (unsigned i = 0; i < stretch; ++i) operation(random);
      const clock::time_point now = clock::now();
      seconds.push_back(std::chrono::duration<double>(now - start).count());
      start = now;
    }
  }).join();
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return stretch / *middle;
}

// Of all threads.
template <class Operation>
double operations_per_second(unsigned threads, std::chrono::milliseconds time,
                             Operation operation) {
  if (threads == 1) return operations_per_second_of_one(time, operation);
  std::vector<bench::timed_body> bodies;
  for (unsigned i = 0; i < threads; ++i) {
    bodies.push_back([=](const std::atomic<bool>& stopped) {
      pin(i, threads);
      bench::random_numbers random(i);
      std::uint64_t done = 0;
      for (; !stopped.load(std::memory_order_relaxed); ++done) operation(random);
      return done;
    });
  }
  const bench::timed_outcome outcome = bench::run_together(std::move(bodies), time);
  return outcome.per_second(outcome.total());
}

template <class Lock, auto... Arguments>
void measure(const char* name, const native_request& asked, std::vector<speed>& found) {
  for (const unsigned threads : asked.threads) {
    const auto note = [&](const char* workload, auto operation) {
      alignas(128) Lock lock(Arguments...);
      const double per_second =
          operations_per_second(threads, std::chrono::milliseconds(asked.milliseconds),
                                [&](bench::random_numbers& random) { operation(lock, random); });
      found.push_back({name, workload, threads, per_second});
    };
    note("pairs", [](Lock& lock, bench::random_numbers&) { read(lock, 1); });
    note("write-pairs", [](Lock& lock, bench::random_numbers&) { write(lock, 1); });
    note("mix", [&](Lock& lock, bench::random_numbers& random) {
      if (random() % asked.writes_in == 0) {
        write(lock, 100);
      } else {
        read(lock, 100);
      }
      work(100);
    });
  }
}

// Of a pair of lock and unlock, with what the workloads pairs and write-pairs do beside it.
template <class Lock, auto... Arguments>
pair_counts count(const char* name) {
  alignas(128) Lock lock(Arguments...);
  const double reading = instructions_of_each([&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) read(lock, 1);
  });
  const double writing = instructions_of_each([&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) write(lock, 1);
  });
  return {name, reading, writing};
}

}  // namespace

std::vector<speed> measured_speeds(const native_request& asked) {
  std::vector<speed> found;
  for_each_lock<glibc_rwlock, glibc_mutex>([&]<class Lock, auto... Arguments>(const char* name) {
    measure<Lock, Arguments...>(name, asked, found);
  });
  return found;
}

std::vector<pair_counts> counted_instructions() {
  std::vector<pair_counts> found;
  for_each_lock<glibc_rwlock, glibc_mutex>([&]<class Lock, auto... Arguments>(const char* name) {
    found.push_back(count<Lock, Arguments...>(name));
  });
  found.push_back(count<no_lock>("none"));
  return found;
}

}  // namespace readmost::simulation
