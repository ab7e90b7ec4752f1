// SPDX-License-Identifier: Apache-2.0
// A thread that releases the passive hold of another: all such holds of the lock move to its count.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "lock/bias.hpp"
#include "support/processes.hpp"
#include "support/single_step.hpp"
#include "support/sorts.hpp"
#include "threads/parts.hpp"

namespace readmost::detail {
extern part holds_part;  // src/lock/orphaned_holds.cpp
}

namespace {

using namespace readmost::detail;
using test::helper_thread;

std::uint64_t counted(const rwlock& lock) {
  return rwlock::readers(lock.state.load());
}

std::int64_t in_slots(const rwlock& lock) {
  return passive_holds(domains[lock.domain], &lock, nullptr, 0);
}

void bias(rwlock& lock) {
  lock.balance.store(bias::highest);
  ASSERT_TRUE(test::earn_bias(lock));
}

// A thread that has locked for reading, passively.
class holder {
 public:
  explicit holder(rwlock& lock) : lock_(&lock) { take(); }

  void take() {
    EXPECT_EQ(thread_.call([this] { return test::lock_shared(*lock_); }), 0);
  }
  bool release() {
    return thread_.call([this] { return test::unlock_shared(*lock_); }) == 1;
  }
  helper_thread& thread() { return thread_; }

 private:
  rwlock* lock_;
  helper_thread thread_;
};

TEST(foreign_release, moves_all_holds_and_releases_one) {
  rwlock lock;
  bias(lock);
  std::array<std::unique_ptr<holder>, 3> holders;
  for (auto& each : holders) each = std::make_unique<holder>(lock);
  ASSERT_EQ(in_slots(lock), 3);
  ASSERT_EQ(counted(lock), 0U);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(in_slots(lock), 0);
  EXPECT_EQ(counted(lock), 2U);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(holders[0]->release());
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(holders[1]->release());
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
  EXPECT_FALSE(holders[2]->release()) << "its hold is the one that is released";
}

TEST(foreign_release, moves_what_one_thread_holds_several_times) {
  rwlock lock;
  bias(lock);
  holder one(lock);
  for (std::size_t i = 0; i < passive_slots; ++i) one.take();
  ASSERT_EQ(in_slots(lock), 1 + static_cast<std::int64_t>(nested_slots));
  const std::uint64_t active = counted(lock);
  for (std::uint64_t i = 0; i < active; ++i) EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(in_slots(lock), 1 + static_cast<std::int64_t>(nested_slots))
      << "as long as others are counted";
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(in_slots(lock), 0);
  EXPECT_EQ(counted(lock), nested_slots);
  for (std::size_t i = 0; i < nested_slots; ++i) EXPECT_TRUE(one.release());
  EXPECT_FALSE(one.release());
  test::expect_free(lock);
}

TEST(foreign_release, leaves_the_lock_without_bias_for_good) {
  rwlock lock;
  bias(lock);
  {
    holder one(lock);
    EXPECT_TRUE(test::unlock_shared(lock));
  }
  lock.balance.store(bias::highest);
  EXPECT_FALSE(test::earn_bias(lock));
  lock.balance.store(bias::highest);
  test::write(lock);
  EXPECT_FALSE(test::is_biased(lock));
  EXPECT_FALSE(test::unlock_shared(lock)) << "there is nothing to release";
}

TEST(foreign_release, moves_nothing_where_the_caller_has_a_hold) {
  rwlock lock;
  bias(lock);
  holder other(lock);
  ASSERT_EQ(test::lock_shared(lock), test::acquired);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_TRUE(test::is_biased(lock));
  EXPECT_EQ(in_slots(lock), 1);
  EXPECT_TRUE(other.release());
}

TEST(foreign_release, moves_no_hold_of_another_lock) {
  rwlock lock, other;
  bias(lock);
  bias(other);
  holder one(lock), another(other);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(in_slots(other), 1);
  EXPECT_TRUE(test::is_biased(other));
  EXPECT_TRUE(another.release());
}

TEST(foreign_release, lets_in_a_writer_that_sleeps) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    bias(lock);
    holder one(lock), two(lock);
    helper_thread writer;
    writer.begin([&] { test::write(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_TRUE(writer.falls_asleep()) << "one is left";
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), 0);
    test::expect_free(lock, how);
  }
}

// The owner's slot remains marked until it is used again.
TEST(foreign_release, leaves_the_owner_able_to_lock_passively) {
  rwlock lock;
  const auto pool = std::make_unique<rwlock[]>(64);
  bias(lock);
  for (std::size_t i = 0; i < 64; ++i) bias(pool[i]);
  holder one(lock), two(lock);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(one.thread().call([&] {
    for (std::size_t i = 0; i < 64; ++i) {
      if (test::lock_shared(pool[i]) != test::acquired) return -1;
      if (!test::holds_passively(pool[i])) return static_cast<int>(i);
      if (!test::unlock_shared(pool[i])) return -2;
    }
    return 1000;
  }),
            1000);
  EXPECT_TRUE(one.release());
  test::expect_free(lock);
}

TEST(foreign_release, followed_by_the_exit_of_the_owner_leaves_the_hold_counted_once) {
  rwlock lock;
  bias(lock);
  holder stays(lock);
  {
    holder exits(lock);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(counted(lock), 1U);
  }
  EXPECT_EQ(counted(lock), 1U);
  EXPECT_TRUE(stays.release());
  test::expect_free(lock);
}

TEST(foreign_release, leaves_right_counts_in_a_child) {
  rwlock lock;
  bias(lock);
  holder one(lock), two(lock), three(lock);
  EXPECT_TRUE(test::unlock_shared(lock));
  test::in_a_child([&] {
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_FALSE(test::unlock_shared(lock));
    EXPECT_EQ(test::try_lock(lock), test::acquired);
    test::unlock(lock);
  });
  EXPECT_TRUE(one.release());
  EXPECT_TRUE(two.release());
  test::expect_free(lock);
}

TEST(foreign_release, does_not_concern_the_next_lock_at_the_address) {
  alignas(rwlock) std::byte memory[sizeof(rwlock)];
  auto* lock = new (memory) rwlock;
  bias(*lock);
  holder one(*lock), two(*lock);
  EXPECT_TRUE(test::unlock_shared(*lock));
  lock = new (memory) rwlock;
  bias(*lock);
  one.take();
  EXPECT_EQ(in_slots(*lock), 1);
  EXPECT_EQ(test::try_lock(*lock), test::busy);
  EXPECT_TRUE(one.release());
  EXPECT_FALSE(two.release()) << "what it held is gone";
  test::expect_free(*lock);
}

// --- At any moment -------------------------------------------------------------------------------

#if CAN_STEP

// The marks of moved holds that their owner does not release would fill its slots.
int forget_moved_holds() {
  thread_record& me = *enlist();
  for_each_slot(me, [](auto& slot, std::size_t) { return slot.store(0), true; });
  me.nested.store(0);
  for (auto& moved : me.moved) moved.store(0);
  return 0;
}

// Locks for reading, passively.
int hold_anew(rwlock& lock) {
  forget_moved_holds();
  return test::lock_shared_as(lock, test::hold::passive);
}

void expect_empty(rwlock& lock) {
  EXPECT_EQ(in_slots(lock), 0);
  EXPECT_EQ(counted(lock), 0U);
  test::expect_free(lock);
}

const test::machine_code library = test::code_around(unlock_shared_slow);

// Two holds and two releases, one of them by another thread than the holder.
TEST(foreign_release, may_come_at_any_moment_of_the_owner_s_own_release) {
  helper_thread other, stranger;
  for (std::size_t step = 0;; step += test::stride) {
    SCOPED_TRACE(step);
    rwlock lock;
    bias(lock);
    ASSERT_EQ(other.call([&] { return hold_anew(lock); }), 1);
    ASSERT_EQ(hold_anew(lock), 1);
    bool own = false, foreign = false;
    const bool interrupted = test::interrupt_at(
        step, library, [&] { own = test::unlock_shared(lock); },
        [&] { foreign = stranger.call([&] { return test::unlock_shared(lock); }) == 1; });
    if (!interrupted) {
      EXPECT_EQ(other.call([&] { return test::unlock_shared(lock); }), 1);
      break;
    }
    EXPECT_TRUE(own);
    EXPECT_TRUE(foreign);
    expect_empty(lock);
    if (HasFailure()) break;
  }
  forget_moved_holds();
}

TEST(foreign_release, may_be_overtaken_at_any_moment_by_the_owner_s_own) {
  helper_thread other, owner;
  for (std::size_t step = 0;; step += test::stride) {
    SCOPED_TRACE(step);
    rwlock lock;
    bias(lock);
    ASSERT_EQ(other.call([&] { return hold_anew(lock); }), 1);
    ASSERT_EQ(owner.call([&] { return hold_anew(lock); }), 1);
    bool own = false, foreign = false;
    const bool interrupted = test::interrupt_at(
        step, library, [&] { foreign = test::unlock_shared(lock); },
        [&] { own = owner.call([&] { return test::unlock_shared(lock); }) == 1; });
    EXPECT_TRUE(foreign);
    EXPECT_EQ(own, interrupted);
    if (!interrupted) {
      EXPECT_EQ(other.call([&] { return test::unlock_shared(lock); }), 1);
      break;
    }
    expect_empty(lock);
    if (HasFailure()) break;
  }
}

TEST(foreign_release, may_come_at_any_moment_of_the_owner_s_exit) {
  helper_thread other, stranger;
  for (std::size_t step = 0;; step += test::stride) {
    SCOPED_TRACE(step);
    rwlock lock;
    bias(lock);
    ASSERT_EQ(other.call([&] { return hold_anew(lock); }), 1);
    ASSERT_EQ(hold_anew(lock), 1);
    bool foreign = false;
    const bool interrupted = test::interrupt_at(
        step, library, [&] { holds_part.on_exit(my_record()); },
        [&] { foreign = stranger.call([&] { return test::unlock_shared(lock); }) == 1; });
    EXPECT_EQ(foreign, interrupted);
    if (!interrupted) {
      EXPECT_EQ(stranger.call([&] { return test::unlock_shared(lock); }), 1);
    }
    EXPECT_EQ(stranger.call([&] { return test::unlock_shared(lock); }), 1) << "the other hold";
    expect_empty(lock);
    if (!interrupted || HasFailure()) break;
  }
  forget_moved_holds();
}

#endif

}  // namespace
