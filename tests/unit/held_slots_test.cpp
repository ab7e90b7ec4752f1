// A thread's slots after a release: they keep the lock's address, tagged `held_free`.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;
using test::in_a_child;

std::uintptr_t slot_of(const rwlock& lock) {
  return my_record(lock.domain).held[home_slot(&lock)];
}

// Locks that share a home slot, as many as wanted.
class neighbours {
 public:
  explicit neighbours(std::size_t count) : pool_(std::make_unique<rwlock[]>(64 * count)) {
    for (std::size_t i = 0; i < 64 * count && found_.size() < count; ++i) {
      if (home_slot(&pool_[i]) == home_slot(&pool_[0])) found_.push_back(&pool_[i]);
    }
  }
  std::size_t size() const { return found_.size(); }
  rwlock& operator[](std::size_t i) { return *found_[i]; }

 private:
  std::unique_ptr<rwlock[]> pool_;
  std::vector<rwlock*> found_;
};

TEST(held_slots, say_which_lock_was_held_last_and_that_it_is_no_more) {
  rwlock passive, active;
  test::keep_without_bias(active);
  ASSERT_TRUE(test::earn_bias(passive));
  for (rwlock* lock : {&passive, &active}) {
    ASSERT_EQ(test::lock_shared(*lock), test::acquired);
    EXPECT_FALSE(is_free(slot_of(*lock)));
    EXPECT_EQ(is_passive_hold(slot_of(*lock)), lock == &passive);
    EXPECT_TRUE(test::unlock_shared(*lock));
    EXPECT_EQ(slot_of(*lock), held_before(*lock));
    EXPECT_TRUE(is_free(slot_of(*lock)));
    EXPECT_FALSE(is_passive_hold(slot_of(*lock)));
  }
}

TEST(held_slots, that_are_free_count_as_no_hold) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  test::read(lock, 1);
  ASSERT_EQ(slot_of(lock), held_before(lock));
  EXPECT_EQ(passive_holds(default_domain, &lock, nullptr, 0), 0);
  report(my_record());
  EXPECT_EQ(my_record().seen.load() & 1, 0U) << "reported as holding nothing";
}

TEST(held_slots, that_are_free_are_taken_by_the_next_lock_of_the_same_place) {
  neighbours locks(3);
  ASSERT_EQ(locks.size(), 3U);
  for (std::size_t i = 0; i < locks.size(); ++i) ASSERT_TRUE(test::earn_bias(locks[i]));
  for (std::size_t i = 0; i < locks.size(); ++i) {
    ASSERT_EQ(test::lock_shared(locks[i]), test::acquired);
    EXPECT_EQ(slot_of(locks[i]), held_passively(locks[i]));
    EXPECT_TRUE(test::unlock_shared(locks[i]));
  }
}

// A former holder is a newcomer like any other: only a current hold passes a waiting writer.
TEST(held_slots, that_are_free_do_not_let_a_reader_pass_a_waiting_writer) {
  for (const bool passive : {false, true}) {
    SCOPED_TRACE(passive ? "held passively" : "held actively");
    rwlock lock;
    if (passive) {
      ASSERT_TRUE(test::earn_bias(lock));
    } else {
      test::keep_without_bias(lock);
    }
    helper_thread reader, writer;
    test::read(lock, 1);
    ASSERT_EQ(slot_of(lock), held_before(lock));
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    writer.begin([&] { test::write(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(test::try_lock_shared(lock), test::busy);
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(writer.end(), 0);
  }
}

TEST(held_slots, are_left_alone_by_the_erasure_of_holds_when_they_are_free) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  helper_thread holder;
  ASSERT_EQ(holder.call([&] { return test::lock_shared(lock); }), test::acquired);
  test::read(lock, 1);
  erase_passive_holds(default_domain, &lock);
  EXPECT_EQ(slot_of(lock), held_before(lock));
  EXPECT_EQ(holder.call([&] { return slot_of(lock) == 0; }), 1);
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(held_slots, are_empty_when_the_thread_has_exited) {
  rwlock passive, active;
  test::keep_without_bias(active);
  ASSERT_TRUE(test::earn_bias(passive));
  const thread_record* record = nullptr;
  std::thread([&] {
    test::read(passive, 1);
    test::read(active, 1);
    record = &my_record();
  }).join();
  ASSERT_NE(record, &unregistered);
  for (const auto& slot : record->held) EXPECT_TRUE(is_free(slot.load()));
  EXPECT_EQ(test::try_lock(passive), test::acquired) << "what was released is not held again";
  EXPECT_EQ(test::try_lock(active), test::acquired);
  test::unlock(passive);
  test::unlock(active);
}

// The thread exits while the memory is still that of the lock it holds.
TEST(held_slots, of_a_lock_that_was_freed_while_held_do_not_block_the_next_one_there) {
  alignas(rwlock) std::byte memory[sizeof(rwlock)];
  auto* lock = new (memory) rwlock;
  ASSERT_TRUE(test::earn_bias(*lock));
  bool passive = false;
  std::thread([&] {
    test::lock_shared(*lock);
    passive = test::holds_passively(*lock);
  }).join();
  ASSERT_TRUE(passive);

  lock = new (memory) rwlock;
  ASSERT_TRUE(test::earn_bias(*lock));
  const test::hasty_rules how({}, 1'000'000'000);
  ASSERT_EQ(test::lock(*lock, how), test::acquired);
  test::unlock(*lock);
}

TEST(held_slots, of_other_threads_count_for_nothing_in_a_child_when_they_are_free) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  helper_thread other;
  const thread_record* record = nullptr;
  ASSERT_EQ(other.call([&] {
    test::read(lock, 1);
    record = &my_record();
    return slot_of(lock) == held_before(lock);
  }),
            1);
  in_a_child([&] {
    for (const auto& slot : record->held) EXPECT_EQ(slot.load(), 0U);
    EXPECT_EQ(test::try_lock(lock), test::acquired);
    test::unlock(lock);
    EXPECT_EQ(lock.state.load() & ~rwlock::biased, 0U) << "nothing was counted";
  });
}

// In `unregistered` no slot is ever free.
TEST(held_slots, are_free_when_another_thread_has_released_the_hold) {
  rwlock lock;
  test::keep_without_bias(lock);
  helper_thread reader;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock));
  }
  EXPECT_EQ(reader.call([&] { return is_free(slot_of(lock)) ? 1 : 0; }), 1);
  EXPECT_EQ(reader.call([] { return static_cast<int>(my_record().elsewhere.load()); }), 0);
  // Released holds do not count as the caller's.
  EXPECT_EQ(reader.call([&] {
    if (test::lock_shared(lock) != test::acquired) return -1;
    const int result = test::try_upgrade(lock);
    if (result == test::acquired) test::unlock(lock);
    return result;
  }),
            test::acquired);
}

TEST(held_slots, are_never_free_without_a_record) {
  for (const auto& slot : unregistered.held) {
    EXPECT_FALSE(is_free(slot.load()));
    EXPECT_FALSE(is_passive_hold(slot.load()));
  }
}

}  // namespace
