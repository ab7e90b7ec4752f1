// SPDX-License-Identifier: Apache-2.0
// The order in which waiting readers and writers get the lock.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "configuration.hpp"
#include "locks.hpp"
#include "prepared_lock.hpp"
#include "probe_output.hpp"
#include "support/helper_thread.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;
using std::chrono::milliseconds;
using test::helper_thread;

// A holds the lock for reading, W waits to write, and A waits until B has read: B must get in.
void expect_readers_pass_a_waiting_writer(pthread_rwlock_t* lock) {
  helper_thread writer, newcomer;
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  writer.begin([&] { return pthread_rwlock_wrlock(lock); });
  ASSERT_TRUE(writer.falls_asleep());
  for (int arrivals = 0; arrivals < 20; ++arrivals) {
    for (const auto& operation : contract::untimed_operations()) {
      if (operation.writes) continue;
      EXPECT_EQ(newcomer.call([&] { return operation.call(lock); }), 0) << operation.name;
      EXPECT_EQ(newcomer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    }
    for (const auto& operation : contract::timed_operations()) {
      if (operation.writes) continue;
      EXPECT_EQ(newcomer.call(
                    [&] { return contract::call_for(operation, lock, contract::generous_wait); }),
                0)
          << operation.name;
      EXPECT_EQ(newcomer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    }
  }
  EXPECT_TRUE(writer.in_call()) << "it wrote beside a reader";
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(writer.end(), 0) << "the writer never got its turn";
  EXPECT_EQ(seen_elsewhere(lock), holding::written);
  EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
}

// The same when the policy prefers the waiting writer: B waits for W, so A must not wait for B.
void expect_a_waiting_writer_goes_first(pthread_rwlock_t* lock) {
  helper_thread writer, newcomer;
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  writer.begin([&] { return pthread_rwlock_wrlock(lock); });
  ASSERT_TRUE(writer.falls_asleep());
  EXPECT_EQ(newcomer.call([&] { return pthread_rwlock_tryrdlock(lock); }), EBUSY);
  for (const auto& operation : contract::timed_operations()) {
    if (operation.writes) continue;
    EXPECT_EQ(newcomer.call([&] { return contract::call_for(operation, lock, milliseconds(5)); }),
              ETIMEDOUT)
        << operation.name;
  }
  newcomer.begin([&] { return pthread_rwlock_rdlock(lock); });
  EXPECT_TRUE(newcomer.falls_asleep());
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(writer.end(), 0);
  EXPECT_TRUE(newcomer.in_call()) << "it reads beside the writer";
  EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  EXPECT_EQ(newcomer.end(), 0);
  EXPECT_EQ(newcomer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  EXPECT_EQ(seen_elsewhere(lock), holding::free);
}

// Kinds 0 and 1 promise this, unless the configuration selects another policy.
void expect_the_policy_is_kept(pthread_rwlock_t* lock) {
  contract::readers_pass_waiting_writers() ? expect_readers_pass_a_waiting_writer(lock)
                                           : expect_a_waiting_writer_goes_first(lock);
}

TEST(preference, kinds_0_and_1_let_new_readers_in_while_a_writer_waits) {
  for (const auto& v : contract::variants({0, 1})) {
    contract::prepared_lock lock(v);
    for (int round = 0; round < 3; ++round) expect_the_policy_is_kept(lock);
  }
}

TEST(preference, a_statically_initialised_lock_lets_new_readers_in_while_a_writer_waits) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  expect_the_policy_is_kept(&lock);
  contract::make_hot(&lock);
  expect_the_policy_is_kept(&lock);
}

TEST(preference, a_std_shared_mutex_lets_new_readers_in_while_a_writer_waits) {
  std::shared_mutex mutex;
  expect_the_policy_is_kept(contract::lock_of(mutex));
  contract::make_hot(contract::lock_of(mutex));
  expect_the_policy_is_kept(contract::lock_of(mutex));
}

// The newcomer has itself made the lock hot before it arrives again.
TEST(preference, a_reader_hot_in_its_own_thread_passes_a_waiting_writer) {
  contract::rwlock lock;
  helper_thread writer, reader;
  const auto heat = [&] {
    contract::make_hot(lock);
    return 0;
  };
  heat();
  ASSERT_EQ(reader.call(heat), 0);
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  writer.begin([&] { return pthread_rwlock_wrlock(lock); });
  ASSERT_TRUE(writer.falls_asleep());
  reader.begin(heat);
  if (contract::readers_pass_waiting_writers()) {
    EXPECT_EQ(reader.end(), 0);
  } else {
    EXPECT_TRUE(reader.falls_asleep());
  }
  EXPECT_TRUE(writer.in_call());
  ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  EXPECT_EQ(reader.end(), 0);
}

TEST(preference, kind_2_lets_the_waiting_writer_go_before_later_readers) {
  for (const auto& v : contract::variants({2})) {
    contract::prepared_lock lock(v);
    for (int round = 0; round < 10; ++round) {
      helper_thread writer, reader;
      std::atomic<int> turn{0};
      std::atomic<int> wrote{0}, read{0};
      ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
      writer.begin([&] {
        const int result = pthread_rwlock_wrlock(lock);
        wrote = ++turn;
        return result != 0 ? result : pthread_rwlock_unlock(lock);
      });
      ASSERT_TRUE(writer.falls_asleep());
      reader.begin([&] {
        const int result = pthread_rwlock_rdlock(lock);
        read = ++turn;
        return result != 0 ? result : pthread_rwlock_unlock(lock);
      });
      ASSERT_TRUE(reader.falls_asleep());
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(writer.end(), 0);
      EXPECT_EQ(reader.end(), 0);
      EXPECT_EQ(wrote, 1);
      EXPECT_EQ(read, 2);
    }
  }
}

TEST(preference, a_writer_of_kind_2_that_times_out_wakes_the_readers_that_waited_behind_it) {
  for (const auto& operation : contract::timed_operations()) {
    if (!operation.writes) continue;
    for (const auto& v : contract::variants({2})) {
      SCOPED_TRACE(operation.name);
      contract::prepared_lock lock(v);
      helper_thread writer, readers[3];
      ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
      writer.begin([&] { return contract::call_for(operation, lock, milliseconds(400)); });
      EXPECT_TRUE(writer.settles());
      for (auto& reader : readers) {
        reader.begin([&] { return pthread_rwlock_rdlock(lock); });
      }
      for (auto& reader : readers) {
        EXPECT_EQ(reader.end(), 0) << "it sleeps on though no writer waits any more";
      }
      EXPECT_EQ(writer.end(), ETIMEDOUT);
      for (auto& reader : readers) {
        EXPECT_EQ(reader.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      }
      ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
      EXPECT_EQ(seen_elsewhere(lock), holding::free);
    }
  }
}

TEST(preference, a_writer_that_times_out_leaves_the_lock_to_those_who_still_wait) {
  for (const auto& v : contract::variants({0, 1, 2})) {
    contract::prepared_lock lock(v);
    helper_thread hasty, patient, reader;
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    hasty.begin([&] {
      const timespec deadline = contract::in(CLOCK_MONOTONIC, milliseconds(50));
      return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &deadline);
    });
    patient.begin([&] {
      const int result = pthread_rwlock_wrlock(lock);
      return result != 0 ? result : pthread_rwlock_unlock(lock);
    });
    reader.begin([&] {
      const int result = pthread_rwlock_rdlock(lock);
      return result != 0 ? result : pthread_rwlock_unlock(lock);
    });
    EXPECT_EQ(hasty.end(), ETIMEDOUT);
    EXPECT_TRUE(patient.falls_asleep());
    EXPECT_TRUE(reader.falls_asleep());
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(patient.end(), 0);
    EXPECT_EQ(reader.end(), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

// If real-time scheduling is refused, the error must be the kernel's usual one; the reader then
// passes the writer at equal priority, which kind 0 promises as well.
void set_priority(int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  const int result = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
  if (result == 0) return;
  std::cerr << "SCHED_FIFO is refused here (error " << result << "): equal priorities are tested\n";
  if (result != EPERM) std::abort();
}

TEST(preference, a_real_time_reader_passes_a_waiting_writer_of_lower_priority) {
  for (const auto& v : contract::variants({0})) {
    contract::prepared_lock lock(v);
    helper_thread writer, reader;
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    writer.begin([&] {
      set_priority(1);
      return pthread_rwlock_wrlock(lock);
    });
    ASSERT_TRUE(writer.falls_asleep());
    const bool passes = contract::readers_pass_waiting_writers();
    EXPECT_EQ(reader.call([&] {
      set_priority(2);
      return passes ? pthread_rwlock_rdlock(lock) : pthread_rwlock_tryrdlock(lock);
    }),
              passes ? 0 : EBUSY);
    EXPECT_TRUE(writer.in_call());
    if (passes) {
      EXPECT_EQ(reader.call([&] { return pthread_rwlock_unlock(lock); }), 0);
    }
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(writer.call([&] { return pthread_rwlock_unlock(lock); }), 0);
  }
}

int stay_on_one_processor() {
  static const int processor = sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Spinning would keep the holder from the only processor that it may use.
TEST(preference, a_real_time_thread_sleeps_while_it_waits_for_a_holder_on_its_own_processor) {
  for (const auto& v : contract::variants({0, 2})) {
    for (const bool holder_writes : {false, true}) {
      SCOPED_TRACE(holder_writes ? "the holder writes" : "the holder reads");
      contract::prepared_lock lock(v);
      helper_thread holder, waiter;
      ASSERT_EQ(holder.call(stay_on_one_processor), 0);
      ASSERT_EQ(waiter.call(stay_on_one_processor), 0);
      ASSERT_EQ(holder.call([&] {
        if (v.hot) contract::make_hot(lock);
        return holder_writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
      }),
                0);
      waiter.begin([&] {
        set_priority(1);
        const int result =
            holder_writes ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock);
        return result != 0 ? result : pthread_rwlock_unlock(lock);
      });
      EXPECT_TRUE(waiter.falls_asleep());
      EXPECT_EQ(holder.call([&] { return pthread_rwlock_unlock(lock); }), 0);
      EXPECT_EQ(waiter.end(), 0);
    }
  }
}

// glibc ignores this variable; users of Readmost may select a policy other than the kind's.
TEST(preference, the_environment_may_choose_another_policy_for_private_locks) {
  const auto newcomer = [](const char* kind, const char* preference) {
    return contract::probe_output({"newcomer", kind}, {{"READMOST_PREFER", preference}});
  };
  const bool ours = contract::readmost_rules();
  EXPECT_EQ(newcomer("0", "reader"), "enters\n");
  EXPECT_EQ(newcomer("0", "writer"), ours ? "is kept out\n" : "enters\n");
  EXPECT_EQ(newcomer("1", "writer"), ours ? "is kept out\n" : "enters\n");
  EXPECT_EQ(newcomer("2", "writer"), "is kept out\n");
  EXPECT_EQ(newcomer("2", "reader"), ours ? "enters\n" : "is kept out\n");
  EXPECT_EQ(newcomer("0", "phase-fair"), ours ? "is kept out\n" : "enters\n");
  EXPECT_EQ(newcomer("2", "phase-fair"), "is kept out\n");
  EXPECT_EQ(newcomer("0", "kind"), "enters\n");
}

// The variable must take effect even if a program uses a lock before glibc is initialised.
TEST(preference, the_environment_is_honoured_by_a_program_that_locks_before_all_constructors) {
  EXPECT_EQ(contract::probe_output({"early-newcomer", "0"}, {{"READMOST_PREFER", "writer"}}),
            contract::readmost_rules() ? "is kept out\n" : "enters\n");
}

}  // namespace
