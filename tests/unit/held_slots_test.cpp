// SPDX-License-Identifier: Apache-2.0
// Where a thread's record has its read holds: the home slot of the lock, the nested slots, the
// notes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "lock/bias.hpp"
#include "lock/holds.hpp"
#include "support/processes.hpp"
#include "support/single_step.hpp"
#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;
using test::in_a_child;

std::uintptr_t home_of(const rwlock& lock) {
  return my_record(lock.domain).held[home_slot(&lock)];
}

std::uintptr_t nested_at(std::size_t depth) {
  return my_record().nested_held[depth];
}

std::uint32_t nested() {
  return my_record().nested;
}

std::int64_t in_slots(const rwlock& lock) {
  return passive_holds(domains[lock.domain], &lock, nullptr, 0);
}

std::uint64_t counted(const rwlock& lock) {
  return rwlock::readers(lock.state.load());
}

int notes_of(const rwlock& lock) {
  return noted_holds_of(my_record(), lock);
}

void bias(rwlock& lock) {
  lock.balance.store(bias::highest);
  ASSERT_TRUE(test::earn_bias(lock));
}

void expect_no_passive_holds() {
  for (const auto& slot : my_record().held) EXPECT_EQ(slot.load(), 0U);
  EXPECT_EQ(nested(), 0U);
}

void expect_no_holds() {
  expect_no_passive_holds();
  for (const std::uintptr_t note : my_record().noted) EXPECT_EQ(note, 0U);
  EXPECT_EQ(my_record().unnoted, 0U);
}

// Biased locks that share a home slot, and one with another.
class neighbours {
 public:
  explicit neighbours(std::size_t count) {
    for (std::size_t i = 0; i < pool_size && found_.size() < count; ++i) {
      if (home_slot(&pool_[i]) == home_slot(&pool_[0])) found_.push_back(&pool_[i]);
    }
    EXPECT_EQ(found_.size(), count);
    for (std::size_t i = 0; i < pool_size && stranger_ == nullptr; ++i) {
      if (home_slot(&pool_[i]) != home_slot(&pool_[0])) stranger_ = &pool_[i];
    }
    for (rwlock* lock : found_) bias(*lock);
    bias(stranger());
  }
  rwlock& operator[](std::size_t i) { return *found_[i]; }
  rwlock& stranger() { return *stranger_; }

 private:
  static constexpr std::size_t pool_size = 512;
  std::unique_ptr<rwlock[]> pool_ = std::make_unique<rwlock[]>(pool_size);
  std::vector<rwlock*> found_;
  rwlock* stranger_ = nullptr;
};

TEST(held_slots, name_the_lock_while_it_is_held_passively) {
  rwlock passive, active;
  test::keep_without_bias(active);
  bias(passive);
  ASSERT_EQ(test::lock_shared(passive), test::acquired);
  EXPECT_EQ(home_of(passive), address(passive));
  EXPECT_EQ(counted(passive), 0U);
  EXPECT_EQ(notes_of(passive), 0);
  EXPECT_TRUE(test::unlock_shared(passive));
  EXPECT_EQ(home_of(passive), 0U);

  ASSERT_EQ(test::lock_shared(active), test::acquired);
  EXPECT_EQ(in_slots(active), 0);
  EXPECT_EQ(counted(active), 1U);
  EXPECT_EQ(notes_of(active), 1);
  EXPECT_TRUE(test::unlock_shared(active));
  expect_no_holds();
}

TEST(held_slots, that_are_empty_let_a_thread_report_that_it_holds_nothing) {
  rwlock lock;
  bias(lock);
  ASSERT_EQ(test::lock_shared(lock), test::acquired);
  report(my_record());
  EXPECT_EQ(my_record().seen.load() & 1, 1U);
  EXPECT_TRUE(test::unlock_shared(lock));
  report(my_record());
  EXPECT_EQ(my_record().seen.load() & 1, 0U);
}

TEST(held_slots, are_taken_by_the_next_lock_of_the_same_place) {
  neighbours locks(3);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(test::lock_shared(locks[i]), test::acquired);
    EXPECT_EQ(home_of(locks[i]), address(locks[i]));
    EXPECT_TRUE(test::unlock_shared(locks[i]));
  }
}

TEST(held_slots, are_nested_ones_where_the_home_slot_is_taken) {
  neighbours locks(2);
  ASSERT_EQ(test::lock_shared(locks[0]), test::acquired);
  ASSERT_EQ(test::lock_shared(locks[1]), test::acquired);
  EXPECT_EQ(home_of(locks[0]), address(locks[0]));
  EXPECT_EQ(nested(), 1U);
  EXPECT_EQ(nested_at(0), address(locks[1]));
  EXPECT_EQ(in_slots(locks[1]), 1);
  EXPECT_EQ(test::try_lock(locks[1]), test::busy);
  EXPECT_TRUE(test::unlock_shared(locks[1]));
  EXPECT_EQ(nested(), 0U);
  EXPECT_EQ(test::try_lock(locks[1]), test::acquired);
  test::unlock(locks[1]);
  EXPECT_TRUE(test::unlock_shared(locks[0]));
  expect_no_holds();
}

TEST(held_slots, are_nested_ones_for_every_lock_while_there_are_nested_holds) {
  neighbours locks(2);
  ASSERT_EQ(test::lock_shared(locks[0]), test::acquired);
  ASSERT_EQ(test::lock_shared(locks[1]), test::acquired);
  ASSERT_EQ(test::lock_shared(locks.stranger()), test::acquired);
  EXPECT_EQ(home_of(locks.stranger()), 0U);
  EXPECT_EQ(nested(), 2U);
  EXPECT_EQ(nested_at(1), address(locks.stranger()));
  EXPECT_TRUE(test::unlock_shared(locks.stranger()));
  EXPECT_TRUE(test::unlock_shared(locks[1]));
  ASSERT_EQ(test::lock_shared(locks.stranger()), test::acquired);
  EXPECT_EQ(home_of(locks.stranger()), address(locks.stranger()));
  EXPECT_TRUE(test::unlock_shared(locks.stranger()));
  EXPECT_TRUE(test::unlock_shared(locks[0]));
  expect_no_holds();
}

TEST(held_slots, that_are_all_taken_leave_active_holds) {
  constexpr std::size_t many = 1 + nested_slots + 2;
  neighbours locks(many);
  for (std::size_t i = 0; i < many; ++i) {
    ASSERT_EQ(test::lock_shared(locks[i]), test::acquired);
    const bool has_slot = i <= nested_slots;
    EXPECT_EQ(in_slots(locks[i]), has_slot ? 1 : 0) << i;
    EXPECT_EQ(counted(locks[i]), has_slot ? 0U : 1U) << i;
    EXPECT_EQ(notes_of(locks[i]), has_slot ? 0 : 1) << i;
    EXPECT_TRUE(test::is_biased(locks[i]));
    EXPECT_EQ(test::try_lock(locks[i]), test::busy);
  }
  for (std::size_t i = 0; i < many; ++i) {
    EXPECT_TRUE(test::unlock_shared(locks[i]));
    test::expect_free(locks[i]);
  }
  expect_no_holds();
}

TEST(held_slots, take_several_holds_of_one_lock) {
  rwlock lock;
  bias(lock);
  constexpr std::size_t times = 1 + nested_slots + 3;
  for (std::size_t i = 0; i < times; ++i) ASSERT_EQ(test::lock_shared(lock), test::acquired);
  EXPECT_EQ(in_slots(lock), 1 + static_cast<std::int64_t>(nested_slots));
  EXPECT_EQ(counted(lock), 3U);
  EXPECT_EQ(notes_of(lock), 3);
  for (std::size_t i = 0; i < times; ++i) {
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
  }
  EXPECT_FALSE(test::unlock_shared(lock));
  expect_no_holds();
}

TEST(held_slots, may_be_released_in_any_order) {
  constexpr std::size_t many = 1 + nested_slots;
  neighbours locks(many);
  std::array<std::size_t, many> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    for (std::size_t i = 0; i < many; ++i) {
      ASSERT_EQ(test::lock_shared(locks[i]), test::acquired);
      ASSERT_EQ(in_slots(locks[i]), 1);
    }
    std::array<bool, many> held{};
    held.fill(true);
    for (const std::size_t next : order) {
      ASSERT_TRUE(test::unlock_shared(locks[next]));
      held[next] = false;
      for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(in_slots(locks[i]), held[i] ? 1 : 0);
      // A hold that comes meanwhile does not hide those below it.
      const bool has_room = nested() < nested_slots;
      ASSERT_EQ(test::lock_shared(locks.stranger()), test::acquired);
      ASSERT_EQ(in_slots(locks.stranger()), has_room ? 1 : 0);
      for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(in_slots(locks[i]), held[i] ? 1 : 0);
      ASSERT_TRUE(test::unlock_shared(locks.stranger()));
    }
    expect_no_holds();
  } while (std::next_permutation(order.begin(), order.end()) && !testing::Test::HasFailure());
}

// A former holder is a newcomer like any other: only a current hold passes a waiting writer.
TEST(held_slots, that_were_released_do_not_let_a_reader_pass_a_waiting_writer) {
  for (const test::hold h : test::holds) {
    SCOPED_TRACE(test::name_of(h));
    rwlock lock;
    if (h == test::hold::passive) {
      bias(lock);
    } else {
      test::keep_without_bias(lock);
    }
    helper_thread reader, writer;
    test::read(lock, 1);
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    writer.begin([&] { test::write(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(test::try_lock_shared(lock), test::busy);
    EXPECT_EQ(reader.call([&] { return test::try_lock_shared(lock); }), test::acquired)
        << "it holds the lock";
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(writer.end(), 0);
  }
}

// --- Notes of active holds -----------------------------------------------------------------------

TEST(noted_holds, are_as_many_as_a_record_has_room_for) {
  constexpr std::size_t many = noted_holds + 3;
  std::array<rwlock, many> locks;
  for (rwlock& lock : locks) {
    test::keep_without_bias(lock);
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
  }
  for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(notes_of(locks[i]), i < noted_holds ? 1 : 0);
  EXPECT_EQ(my_record().unnoted, 3U);
  for (std::size_t i = 0; i < many; ++i) {
    const std::size_t next = i * 5 % many;  // neither the order of locking nor its reverse
    EXPECT_TRUE(test::unlock_shared(locks[next]));
    test::expect_free(locks[next]);
  }
  expect_no_holds();
}

TEST(noted_holds, that_found_no_place_pass_a_waiting_writer_too) {
  std::array<rwlock, noted_holds + 1> locks;
  for (rwlock& lock : locks) {
    test::keep_without_bias(lock);
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
  }
  rwlock& last = locks.back();
  helper_thread writer;
  writer.begin([&] { test::write(last); });
  ASSERT_TRUE(writer.falls_asleep());
  EXPECT_EQ(test::try_lock_shared(last), test::acquired);
  EXPECT_TRUE(test::unlock_shared(last));
  for (rwlock& lock : locks) EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(writer.end(), 0);
  expect_no_holds();
}

TEST(noted_holds, are_none_where_the_rules_say_so) {
  rwlock lock;
  const rules how{.prefers = readmost::preference::reader, .noted = false};
  test::keep_without_bias(lock);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
  EXPECT_EQ(counted(lock), 3U);
  expect_no_holds();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(test::unlock_shared(lock));
  expect_no_holds();
  test::expect_free(lock, how);
}

TEST(noted_holds, do_not_decide_how_often_a_lock_is_held) {
  rwlock lock;
  test::keep_without_bias(lock);
  helper_thread reader;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock)) << "by a thread that has no note of it";
    EXPECT_EQ(counted(lock), 0U);
  }
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 0);
  ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  test::expect_free(lock);
}

// --- Signal handlers -----------------------------------------------------------------------------

#if CAN_STEP

const test::machine_code program = test::code_around(unlock_shared_slow);

// Reads `interrupted` in the thread, and `in_handler` between any two instructions.
void read_amid_a_read(rwlock& interrupted, rwlock& in_handler) {
  for (std::size_t step = 0;; step += test::stride) {
    SCOPED_TRACE(step);
    bool released = false, released_in_handler = false;
    int locked = -1, locked_in_handler = -1;
    const bool was_interrupted = test::interrupt_at(
        step, program,
        [&] {
          locked = test::lock_shared(interrupted);
          released = test::unlock_shared(interrupted);
        },
        [&] {
          locked_in_handler = test::lock_shared(in_handler);
          released_in_handler = test::unlock_shared(in_handler);
        });
    EXPECT_EQ(locked, test::acquired);
    EXPECT_TRUE(released);
    if (was_interrupted) {
      EXPECT_EQ(locked_in_handler, test::acquired);
      EXPECT_TRUE(released_in_handler);
    }
    for (rwlock* lock : {&interrupted, &in_handler}) {
      EXPECT_EQ(in_slots(*lock), 0);
      EXPECT_EQ(counted(*lock), 0U);
    }
    expect_no_holds();
    if (!was_interrupted || testing::Test::HasFailure()) return;
    ASSERT_LT(step, 100'000U);
  }
}

TEST(held_slots, stand_a_handler_that_reads_the_same_lock) {
  rwlock lock;
  bias(lock);
  read_amid_a_read(lock, lock);
}

TEST(noted_holds, stand_a_handler_that_reads_the_same_lock) {
  rwlock lock;
  test::keep_without_bias(lock);
  test::read(lock, 1);
  read_amid_a_read(lock, lock);
}

TEST(held_slots, stand_a_handler_that_reads_another_lock_of_the_same_place) {
  neighbours locks(2);
  read_amid_a_read(locks[0], locks[1]);
  rwlock active;
  test::keep_without_bias(active);
  test::read(active, 1);
  read_amid_a_read(locks[0], active);
  read_amid_a_read(active, locks[0]);
}

TEST(held_slots, stand_a_handler_amid_nested_holds) {
  neighbours locks(4);
  ASSERT_EQ(test::lock_shared(locks[0]), test::acquired);
  for (std::size_t step = 0;; step += test::stride) {
    SCOPED_TRACE(step);
    const bool was_interrupted = test::interrupt_at(
        step, program,
        [&] {
          test::lock_shared(locks[1]);
          test::lock_shared(locks[2]);
          test::unlock_shared(locks[1]);  // not the latest
          test::unlock_shared(locks[2]);
        },
        [&] {
          for (std::size_t i = 1; i < 4; ++i) test::lock_shared(locks[i]);
          for (std::size_t i = 1; i < 4; ++i) test::unlock_shared(locks[i]);
        });
    EXPECT_EQ(in_slots(locks[0]), 1);
    EXPECT_EQ(nested(), 0U);
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(in_slots(locks[i]), 0);
      EXPECT_EQ(counted(locks[i]), 0U);
    }
    if (!was_interrupted || HasFailure()) break;
    ASSERT_LT(step, 100'000U);
  }
  EXPECT_TRUE(test::unlock_shared(locks[0]));
  expect_no_passive_holds();
}

#endif

// --- The end of a lock or of a thread ------------------------------------------------------------

TEST(held_slots, are_left_alone_by_the_erasure_of_another_lock_s_holds) {
  neighbours locks(2);
  helper_thread holder;
  ASSERT_EQ(holder.call([&] { return test::lock_shared(locks[0]); }), test::acquired);
  ASSERT_EQ(test::lock_shared(locks[1]), test::acquired);
  erase_passive_holds(default_domain, &locks[0]);
  EXPECT_EQ(home_of(locks[1]), address(locks[1]));
  EXPECT_EQ(holder.call([&] { return home_of(locks[0]) == 0; }), 1);
  EXPECT_EQ(test::try_lock(locks[0]), test::acquired);
  test::unlock(locks[0]);
  EXPECT_TRUE(test::unlock_shared(locks[1]));
}

TEST(held_slots, are_empty_when_the_thread_has_exited) {
  neighbours locks(1 + nested_slots);
  rwlock active;
  test::keep_without_bias(active);
  thread_record* record = nullptr;
  std::thread([&] {
    for (std::size_t i = 0; i <= nested_slots; ++i) test::lock_shared(locks[i]);
    test::lock_shared(active);
    record = &my_record();
  }).join();
  ASSERT_NE(record, &unregistered);
  for (const auto& slot : record->held) EXPECT_FALSE(is_passive_hold(slot.load()));
  EXPECT_EQ(record->nested.load(), 0U);
  for (const std::uintptr_t note : record->noted) EXPECT_EQ(note, 0U);
  for (std::size_t i = 0; i <= nested_slots; ++i) {
    EXPECT_EQ(counted(locks[i]), 1U) << "where another thread can release it";
    EXPECT_TRUE(test::unlock_shared(locks[i]));
    test::expect_free(locks[i]);
  }
  EXPECT_TRUE(test::unlock_shared(active));
  test::expect_free(active);
}

// The thread exits while the memory is still that of the lock it holds.
TEST(held_slots, of_a_lock_that_was_freed_while_held_do_not_block_the_next_one_there) {
  alignas(rwlock) std::byte memory[sizeof(rwlock)];
  auto* lock = new (memory) rwlock;
  bias(*lock);
  bool passive = false;
  std::thread([&] {
    test::lock_shared(*lock);
    passive = test::holds_passively(*lock);
  }).join();
  ASSERT_TRUE(passive);

  lock = new (memory) rwlock;
  bias(*lock);
  const test::hasty_rules how({}, 1'000'000'000);
  ASSERT_EQ(test::lock(*lock, how), test::acquired);
  test::unlock(*lock);
}

// A program may put a lock into memory that it has used without destroying what was there.
TEST(held_slots, of_a_lock_that_is_initialised_again_while_held_do_not_count_for_the_next_one) {
  alignas(rwlock) std::byte memory[sizeof(rwlock)];
  auto* lock = new (memory) rwlock;
  bias(*lock);
  helper_thread holder;
  ASSERT_EQ(holder.call([&] { return test::lock_shared(*lock); }), test::acquired);
  ASSERT_EQ(in_slots(*lock), 1);

  lock = new (memory) rwlock;
  EXPECT_EQ(test::try_lock(*lock), test::acquired) << "without bias, slots mean nothing";
  test::unlock(*lock);
  bias(*lock);
  EXPECT_EQ(in_slots(*lock), 0) << "cleared before the first bias";
  const test::hasty_rules how({}, 1'000'000'000);
  ASSERT_EQ(test::lock(*lock, how), test::acquired);
  test::unlock(*lock);
}

TEST(held_slots, that_are_cleared_before_the_first_bias_are_not_cleared_again) {
  rwlock lock;
  bias(lock);
  helper_thread holder;
  ASSERT_EQ(holder.call([&] { return test::lock_shared(lock); }), test::acquired);
  EXPECT_EQ(test::try_lock_shared(lock), test::acquired);
  lock.balance.store(bias::lowest);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_FALSE(test::is_biased(lock));
  bias(lock);
  EXPECT_EQ(in_slots(lock), 1) << "the hold is this lock's";
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_EQ(holder.call([&] { return test::unlock_shared(lock); }), 1);
}

TEST(held_slots, of_other_threads_are_empty_in_a_child) {
  neighbours locks(2);
  helper_thread other;
  const thread_record* record = nullptr;
  ASSERT_EQ(other.call([&] {
    record = enlist();
    return test::lock_shared(locks[0]) + test::lock_shared(locks[1]);
  }),
            test::acquired);
  in_a_child([&] {
    for (const auto& slot : record->held) EXPECT_EQ(slot.load(), 0U);
    EXPECT_EQ(record->nested.load(), 0U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(counted(locks[i]), 1U);
      EXPECT_TRUE(test::unlock_shared(locks[i]));
      test::expect_free(locks[i]);
    }
  });
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(other.call([&] { return test::unlock_shared(locks[i]); }), 1);
  }
}

TEST(held_slots, are_never_free_without_a_record) {
  for (const auto& slot : unregistered.held) {
    EXPECT_NE(slot.load(), 0U);
    EXPECT_FALSE(is_passive_hold(slot.load()));
  }
  EXPECT_NE(unregistered.nested_held[0].load(), 0U);
  EXPECT_NE(unregistered.noted[0], 0U);
}

}  // namespace
