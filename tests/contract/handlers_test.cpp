// SPDX-License-Identifier: Apache-2.0
// A signal handler reads the lock that it interrupted, between any two instructions of the
// operation.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "locks.hpp"
#include "support/helper_thread.hpp"
#include "support/single_step.hpp"

namespace {

using test::helper_thread;

// What the interrupted thread does. The other locks take up places in its record, so that a hold of
// the lock has to go to another place than its usual one, and is still there when that is free.
enum class operation { lock, unlock, lock_others, unlock_others };
using sequence = std::vector<operation>;

const char* name_of(operation o) {
  switch (o) {
    case operation::lock:
      return "lock";
    case operation::unlock:
      return "unlock";
    case operation::lock_others:
      return "lock others";
    case operation::unlock_others:
      return "unlock others";
  }
  return "";
}

struct program {
  std::size_t others;
  sequence operations;
};

class interrupted_thread {
 public:
  // The lock under test is one of several; which one decides about its usual place.
  interrupted_thread(std::size_t others, std::size_t tested)
      : locks_(std::make_unique<pthread_rwlock_t[]>(others + tested + 1)),
        others_(locks_.get(), others),
        tested_(&locks_[others + tested]) {
    for (pthread_rwlock_t& lock : others_) init(&lock);
    init(tested_);
  }
  interrupted_thread(const interrupted_thread&) = delete;
  interrupted_thread& operator=(const interrupted_thread&) = delete;
  ~interrupted_thread() {
    for (pthread_rwlock_t& lock : others_) pthread_rwlock_destroy(&lock);
    pthread_rwlock_destroy(tested_);
  }

  // A mistake of an earlier round may have spoiled the lock for good.
  void begin_round(bool hot) {
    pthread_rwlock_destroy(tested_);
    init(tested_);
    if (hot) contract::make_hot(tested_);
  }

  void perform(operation o) {
    switch (o) {
      case operation::lock:
        result_ |= pthread_rwlock_rdlock(tested_);
        ++holds_;
        return;
      case operation::unlock:
        result_ |= pthread_rwlock_unlock(tested_);
        --holds_;
        return;
      case operation::lock_others:
        for (pthread_rwlock_t& lock : others_) result_ |= pthread_rwlock_rdlock(&lock);
        return;
      case operation::unlock_others:
        for (pthread_rwlock_t& lock : others_) result_ |= pthread_rwlock_unlock(&lock);
        return;
    }
  }

  // Locks to the given depth and unlocks.
  void handle_signal(int depth) {
    for (int i = 0; i < depth; ++i) result_ |= pthread_rwlock_rdlock(tested_);
    for (int i = 0; i < depth; ++i) result_ |= pthread_rwlock_unlock(tested_);
  }

  // In another thread: takes the lock away from passive readers, or finds one inside, which leaves
  // it to active readers as well.
  void write_elsewhere(helper_thread& other) {
    other.call([this] {
      const timespec soon = contract::in(CLOCK_REALTIME, std::chrono::milliseconds(2));
      if (pthread_rwlock_timedwrlock(tested_, &soon) == 0) pthread_rwlock_unlock(tested_);
      return 0;
    });
  }

  // Expects that another thread finds the lock held or free, as it must be.
  void expect_correct_lock(helper_thread& other) {
    ASSERT_EQ(result_, 0);
    ASSERT_EQ(other.call([this] {
      const int result = pthread_rwlock_trywrlock(tested_);
      if (result == 0) pthread_rwlock_unlock(tested_);
      return result;
    }),
              holds_ > 0 ? EBUSY : 0)
        << holds_ << " holds";
  }

 private:
  static void init(pthread_rwlock_t* lock) {
    contract::rwlock::init(lock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_PRIVATE);
  }

  std::unique_ptr<pthread_rwlock_t[]> locks_;
  std::span<pthread_rwlock_t> others_;
  pthread_rwlock_t* tested_;
  int holds_ = 0;
  int result_ = 0;
};

// Interrupts one operation of the program, at each of its moments in turn.
void interrupt_everywhere(const program& p, std::size_t interrupted, std::size_t tested, bool hot,
                          int depth) {
  const test::machine_code library = test::code_around(pthread_rwlock_rdlock);
  helper_thread other;
  interrupted_thread thread(p.others, tested);
  bool came_in_time = true;
  for (std::size_t step = 0; came_in_time; step += test::stride) {
    SCOPED_TRACE(testing::Message()
                 << "operation " << interrupted << " (" << name_of(p.operations[interrupted])
                 << ") beside " << p.others << " other locks, interrupted at step " << step
                 << (hot ? ", hot" : ", cold") << ", the handler locks " << depth << " times, lock "
                 << tested);
    thread.begin_round(hot);
    for (std::size_t i = 0; i < p.operations.size(); ++i) {
      if (i != interrupted) {
        thread.perform(p.operations[i]);
        continue;
      }
      came_in_time = test::interrupt_at(
          step, library, [&] { thread.perform(p.operations[i]); },
          [&] { thread.handle_signal(depth); });
      thread.expect_correct_lock(other);
      if (testing::Test::HasFatalFailure()) return;
    }
    thread.expect_correct_lock(other);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// The number of holds that a record has room for.
constexpr std::size_t record = 8;

void interrupt_everywhere(const program& p, int depth) {
  for (std::size_t i = 0; i < p.operations.size(); ++i) {
    if (p.operations[i] != operation::lock && p.operations[i] != operation::unlock) continue;
    for (const std::size_t tested : {0, 1, 2}) {
      interrupt_everywhere(p, i, tested, true, depth);
      // A full record has no usual place that is free.
      if (testing::Test::HasFatalFailure() || p.others == 0 || p.others > record) break;
    }
    interrupt_everywhere(p, i, 0, false, depth);
    if (testing::Test::HasFatalFailure()) return;
  }
}

using enum operation;

TEST(handlers, read_the_lock_that_the_thread_locks_and_unlocks) {
  for (const int depth : {1, 2}) interrupt_everywhere({0, {lock, unlock}}, depth);
}

TEST(handlers, read_the_lock_that_the_thread_holds_twice) {
  interrupt_everywhere({0, {lock, lock, unlock, unlock}}, 1);
}

TEST(handlers, read_the_lock_whose_hold_is_not_in_its_usual_place) {
  interrupt_everywhere({record - 1, {lock_others, lock, unlock_others, unlock}}, 1);
}

TEST(handlers, read_the_lock_whose_holds_are_in_two_places) {
  interrupt_everywhere({record - 2, {lock_others, lock, unlock_others, lock, unlock, unlock}}, 1);
}

TEST(handlers, read_the_lock_whose_hold_found_no_place) {
  interrupt_everywhere({record + 1, {lock_others, lock, unlock_others, unlock}}, 1);
}

TEST(handlers, read_the_lock_while_the_record_is_full) {
  interrupt_everywhere({record + 1, {lock_others, lock, unlock, unlock_others}}, 1);
}

// The handler's own hold is then active, while the one that is being released is passive.
TEST(handlers, read_the_lock_whose_passive_hold_a_writer_has_met) {
  const test::machine_code library = test::code_around(pthread_rwlock_rdlock);
  helper_thread other;
  interrupted_thread thread(0, 0);
  bool came_in_time = true;
  for (std::size_t step = 0; came_in_time; step += test::stride) {
    SCOPED_TRACE(testing::Message() << "interrupted at step " << step);
    thread.begin_round(true);
    thread.perform(lock);
    thread.write_elsewhere(other);
    came_in_time = test::interrupt_at(
        step, library, [&] { thread.perform(unlock); }, [&] { thread.handle_signal(1); });
    thread.expect_correct_lock(other);
    if (HasFatalFailure()) return;
  }
}

// The reader has seen the lock biased, and publishes its hold too late.
TEST(handlers, read_the_lock_whose_bias_is_gone_meanwhile) {
  const test::machine_code library = test::code_around(pthread_rwlock_rdlock);
  // The passive path has fewer instructions.
  constexpr std::size_t last_of_reader = 24;
  constexpr std::size_t last_of_handler = 12;
  helper_thread other;
  interrupted_thread thread(0, 0);
  for (std::size_t of_writer = 0; of_writer <= last_of_reader; ++of_writer) {
    for (std::size_t later = 0; later <= last_of_handler; ++later) {
      SCOPED_TRACE(testing::Message() << "a writer comes at step " << of_writer << ", the handler "
                                      << later << " steps later");
      thread.begin_round(true);
      test::step_through(
          library, [&] { thread.perform(lock); },
          [&](std::size_t n) {
            if (n == of_writer) thread.write_elsewhere(other);
            if (n < of_writer + later) return true;
            thread.handle_signal(1);
            return false;
          });
      thread.expect_correct_lock(other);
      if (HasFatalFailure()) return;
      thread.perform(unlock);
      thread.expect_correct_lock(other);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
