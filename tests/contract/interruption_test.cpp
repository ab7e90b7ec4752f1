// SPDX-License-Identifier: Apache-2.0
// Lock operations must tolerate signals, ignore cancellation, and leave errno unchanged.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "locks.hpp"
#include "prepared_lock.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using std::chrono::milliseconds;
using test::helper_thread;

std::atomic<int> signals_seen{0};

// Without SA_RESTART, so the signal interrupts system calls.
void install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

void count_signal(int) {
  ++signals_seen;
}

struct wait_to_interrupt {
  std::string name;
  bool writes;
  std::function<int(pthread_rwlock_t*)> call;
};

// Every operation that may wait; the timed ones get a distant deadline.
std::vector<wait_to_interrupt> all_waits() {
  std::vector<wait_to_interrupt> waits;
  for (const auto& operation : contract::untimed_operations()) {
    if (!operation.tries) waits.push_back({operation.name, operation.writes, operation.call});
  }
  for (const auto& operation : contract::timed_operations()) {
    waits.push_back({operation.name, operation.writes, [&operation](pthread_rwlock_t* lock) {
                       return contract::call_for(operation, lock, milliseconds(60'000));
                     }});
  }
  return waits;
}

int hold_against(bool waiter_writes, pthread_rwlock_t* lock) {
  return waiter_writes ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock);
}

TEST(interruption, a_signal_does_not_end_a_wait) {
  install(SIGUSR1, count_signal);
  for (const auto& v : contract::variants({0, 2})) {
    for (const auto& wait : all_waits()) {
      SCOPED_TRACE(v);
      SCOPED_TRACE(wait.name);
      pthread_rwlock_t lock;
      contract::prepare(&lock, v);
      helper_thread waiter;
      ASSERT_EQ(hold_against(wait.writes, &lock), 0);
      waiter.begin([&] { return wait.call(&lock); });
      ASSERT_TRUE(waiter.falls_asleep());
      for (int i = 0; i < 10; ++i) {
        const int before = signals_seen;
        ASSERT_EQ(pthread_kill(waiter.native(), SIGUSR1), 0);
        ASSERT_TRUE(test::wait_until([&] { return signals_seen > before; }));
      }
      ASSERT_TRUE(waiter.falls_asleep()) << "the wait ended before the lock was released";
      ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
      EXPECT_EQ(waiter.end(), 0);
      EXPECT_EQ(waiter.call([&] { return pthread_rwlock_unlock(&lock); }), 0);
      EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
  }
}

// The signals continue until the wait ends, so it would never end if each signal restarted it.
TEST(interruption, signals_do_not_extend_a_timed_wait) {
  install(SIGUSR1, count_signal);
  for (const auto& v : contract::variants({0, 2})) {
    for (const auto& operation : contract::timed_operations()) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      helper_thread waiter;
      ASSERT_EQ(hold_against(operation.writes, lock), 0);
      const timespec deadline = contract::in(operation.clock, milliseconds(60));
      waiter.begin([&] { return operation.call(lock, &deadline); });
      EXPECT_TRUE(test::wait_until([&] {
        pthread_kill(waiter.native(), SIGUSR1);
        return !waiter.in_call();
      })) << "it waits for ever under signals";
      EXPECT_TRUE(contract::reached(operation.clock, deadline)) << "a signal ended the wait";
      EXPECT_EQ(waiter.end(), ETIMEDOUT);
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

pthread_rwlock_t* lock_of_handler = nullptr;
std::atomic<long> handler_reads{0}, handler_errors{0};
std::atomic<bool> handler_may_be_refused{false};

void read_in_handler(int) {
  const int before = errno;
  const int result = pthread_rwlock_tryrdlock(lock_of_handler);
  if (result == 0) {
    if (pthread_rwlock_unlock(lock_of_handler) != 0) ++handler_errors;
  } else if (result != EBUSY || !handler_may_be_refused) {
    ++handler_errors;
  }
  if (errno != before) ++handler_errors;
  ++handler_reads;
}

// POSIX does not promise this, but glibc's try functions tolerate it between any two instructions.
TEST(interruption, a_handler_may_try_the_very_lock_that_the_signal_interrupted) {
  contract::rwlock lock;
  contract::make_hot(lock);
  lock_of_handler = lock;
  install(SIGUSR2, read_in_handler);
  for (const bool writes_too : {false, true}) {
    handler_may_be_refused = writes_too;
    std::atomic<bool> stop{false};
    std::atomic<long> errors{0};
    std::thread worker([&] {
      for (long i = 1; !stop; ++i) {
        if (pthread_rwlock_rdlock(lock) != 0) ++errors;
        if (i % 3 == 0 && (pthread_rwlock_rdlock(lock) != 0 || pthread_rwlock_unlock(lock) != 0)) {
          ++errors;
        }
        if (pthread_rwlock_unlock(lock) != 0) ++errors;
        if (writes_too && i % 50 == 0 &&
            (pthread_rwlock_wrlock(lock) != 0 || pthread_rwlock_unlock(lock) != 0)) {
          ++errors;
        }
      }
    });
    // The number of interruptions depends on the machine, so the test takes as many as fit in a
    // second.
    const long before = handler_reads;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    EXPECT_TRUE(test::wait_until([&] {
      for (int i = 0; i < 20; ++i) {
        pthread_kill(worker.native_handle(), SIGUSR2);
        sched_yield();
      }
      return handler_reads > before && std::chrono::steady_clock::now() > end;
    }));
    stop = true;
    worker.join();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(handler_errors, 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

struct cancelled_thread {
  pthread_rwlock_t* lock;
  std::function<int(pthread_rwlock_t*)> call;
  std::atomic<bool> entered{false}, cancelled{false};
  int result = -1;
  std::atomic<bool> passed{false};
};

// Makes the call with a cancellation pending, then reaches a cancellation point of its own.
void* call_with_cancellation_pending(void* argument) {
  auto& t = *static_cast<cancelled_thread*>(argument);
  t.entered = true;
  while (!t.cancelled) sched_yield();
  t.result = t.call(t.lock);
  if (t.result == 0) pthread_rwlock_unlock(t.lock);
  t.passed = true;
  pthread_testcancel();
  return nullptr;
}

TEST(interruption, no_operation_is_a_cancellation_point_on_a_free_lock) {
  for (const auto& v : contract::variants({0, 2})) {
    std::vector<wait_to_interrupt> calls = all_waits();
    for (const auto& operation : contract::untimed_operations()) {
      if (operation.tries) calls.push_back({operation.name, operation.writes, operation.call});
    }
    for (const auto& call : calls) {
      SCOPED_TRACE(call.name);
      contract::prepared_lock lock(v);
      cancelled_thread t{lock, call.call};
      pthread_t thread;
      ASSERT_EQ(pthread_create(&thread, nullptr, call_with_cancellation_pending, &t), 0);
      ASSERT_EQ(pthread_cancel(thread), 0);
      t.cancelled = true;
      void* end = nullptr;
      ASSERT_EQ(pthread_join(thread, &end), 0);
      EXPECT_EQ(end, PTHREAD_CANCELED);
      EXPECT_TRUE(t.passed) << "the operation was cancelled";
      EXPECT_EQ(t.result, 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

TEST(interruption, no_wait_is_a_cancellation_point) {
  for (const auto& v : contract::variants({0, 2})) {
    for (const auto& wait : all_waits()) {
      SCOPED_TRACE(wait.name);
      contract::prepared_lock lock(v);
      ASSERT_EQ(hold_against(wait.writes, lock), 0);
      std::atomic<pid_t> id{0};
      cancelled_thread t{lock, [&](pthread_rwlock_t* l) {
                           id = gettid();
                           return wait.call(l);
                         }};
      t.cancelled = true;
      pthread_t thread;
      ASSERT_EQ(pthread_create(&thread, nullptr, call_with_cancellation_pending, &t), 0);
      ASSERT_TRUE(test::wait_until([&] { return id != 0 && test::is_asleep(id); }));
      ASSERT_EQ(pthread_cancel(thread), 0);
      // A cancellation point would act at once and end the thread.
      std::this_thread::sleep_for(milliseconds(10));
      EXPECT_TRUE(test::wait_until([&] { return test::is_asleep(id); }));
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      void* end = nullptr;
      ASSERT_EQ(pthread_join(thread, &end), 0);
      EXPECT_EQ(end, PTHREAD_CANCELED);
      EXPECT_TRUE(t.passed) << "the wait was cancelled";
      EXPECT_EQ(t.result, 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

constexpr int mark = 4711;

#define EXPECT_ERRNO_KEPT(call, result) \
  do {                                  \
    errno = mark;                       \
    const int given = (call);           \
    const int after = errno;            \
    EXPECT_EQ(given, result) << #call;  \
    EXPECT_EQ(after, mark) << #call;    \
  } while (false)

TEST(interruption, no_operation_changes_errno) {
  for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    for (const auto& v : contract::variants({0, 1, 2})) {
      SCOPED_TRACE(v);
      pthread_rwlockattr_t attributes;
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_init(&attributes), 0);
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_setkind_np(&attributes, v.kind), 0);
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_setkind_np(&attributes, 9), EINVAL);
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_setpshared(&attributes, shared), 0);
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_setpshared(&attributes, 9), EINVAL);
      pthread_rwlock_t lock;
      EXPECT_ERRNO_KEPT(pthread_rwlock_init(&lock, &attributes), 0);
      EXPECT_ERRNO_KEPT(pthread_rwlockattr_destroy(&attributes), 0);
      helper_thread other, hot_reader;
      if (v.hot) {
        errno = mark;
        contract::make_hot(&lock);
        EXPECT_EQ(errno, mark);
        EXPECT_EQ(hot_reader.call([&] { contract::make_hot(&lock); }), 0);
      }
      const timespec past{0, 0};
      for (const auto& operation : contract::untimed_operations()) {
        SCOPED_TRACE(operation.name);
        EXPECT_ERRNO_KEPT(operation.call(&lock), 0);
        EXPECT_ERRNO_KEPT(pthread_rwlock_trywrlock(&lock), EBUSY);
        if (operation.writes) {
          EXPECT_ERRNO_KEPT(pthread_rwlock_rdlock(&lock), EDEADLK);
        } else {
          EXPECT_ERRNO_KEPT(pthread_rwlock_timedwrlock(&lock, &past), ETIMEDOUT);
        }
        EXPECT_ERRNO_KEPT(pthread_rwlock_unlock(&lock), 0);
      }
      for (const auto& operation : contract::timed_operations()) {
        SCOPED_TRACE(operation.name);
        const timespec bad{0, -1};
        EXPECT_ERRNO_KEPT(operation.call(&lock, &bad), EINVAL);
        EXPECT_ERRNO_KEPT(operation.call(&lock, &past), 0);
        EXPECT_ERRNO_KEPT(pthread_rwlock_unlock(&lock), 0);
        // One wait that times out, and one that a release ends.
        EXPECT_EQ(other.call([&] { return hold_against(operation.writes, &lock); }), 0);
        EXPECT_ERRNO_KEPT(contract::call_for(operation, &lock, milliseconds(5)), ETIMEDOUT);
        other.begin([&] {
          std::this_thread::sleep_for(milliseconds(5));
          return pthread_rwlock_unlock(&lock);
        });
        EXPECT_ERRNO_KEPT(contract::call_for(operation, &lock, contract::generous_wait), 0);
        EXPECT_EQ(other.end(), 0);
        EXPECT_ERRNO_KEPT(pthread_rwlock_unlock(&lock), 0);
      }
      EXPECT_ERRNO_KEPT(pthread_rwlock_destroy(&lock), 0);
    }
  }
}

}  // namespace
