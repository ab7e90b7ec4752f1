// SPDX-License-Identifier: Apache-2.0
// Locks inside objects that are found under RCU.
#include <gtest/gtest.h>

#include <atomic>
#include <readmost/rcu_existence.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_existence_lock;
using readmost::rcu_existing;
using readmost::rcu_lock_existing;
using readmost::rcu_reader;
using test::helper_thread;

struct session : rcu_existence_lock, readmost::rcu_obj_base<session> {
  explicit session(int n = 0) : number(n) { ++alive; }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { --alive; }
  int number;
  int uses = 0;
  static inline std::atomic<int> alive{0};
};

static_assert(sizeof(rcu_existence_lock) == 8);
static_assert(!std::is_copy_constructible_v<rcu_existing<session>>);
static_assert(std::is_nothrow_move_constructible_v<rcu_existing<session>>);

// A table of one session.
struct table {
  std::atomic<session*> only{nullptr};

  explicit table(session* first) : only(first) {}
  rcu_existing<session> find() {
    return rcu_lock_existing([this] { return only.load(std::memory_order_acquire); });
  }
  bool remove(session* successor = nullptr) {
    auto found = find();
    if (!found) return false;
    only.store(successor, std::memory_order_release);
    found.make_obsolete()->retire();
    return true;
  }
};

TEST(rcu_existence_lock, excludes) {
  session one;
  helper_thread other;
  ASSERT_TRUE(one.lock_existing());
  EXPECT_FALSE(one.try_lock_existing());
  other.begin([&] {
    const bool locked = one.lock_existing();
    if (locked) one.unlock();
    return locked ? 1 : 0;
  });
  EXPECT_TRUE(other.falls_asleep());
  one.unlock();
  EXPECT_EQ(other.end(), 1);
  EXPECT_TRUE(one.try_lock_existing());
  one.unlock();
}

TEST(rcu_existence_lock, is_refused_once_the_object_is_obsolete) {
  session one;
  ASSERT_TRUE(one.lock_existing());
  one.mark_obsolete();
  one.unlock();
  ASSERT_FALSE(one.lock_existing());
  EXPECT_FALSE(one.try_lock_existing());
  // Nobody holds it after a refusal.
  EXPECT_FALSE(one.lock_existing());
}

TEST(rcu_existence_lock, is_refused_to_threads_that_wait_while_the_object_becomes_obsolete) {
  session one;
  helper_thread first, second;
  ASSERT_TRUE(one.lock_existing());
  for (helper_thread* each : {&first, &second}) {
    each->begin([&] { return one.lock_existing() ? 1 : 0; });
    EXPECT_TRUE(each->falls_asleep());
  }
  one.mark_obsolete();
  one.unlock();
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(second.end(), 0);
}

TEST(rcu_existence_lock, of_a_copy_is_free) {
  struct plain : rcu_existence_lock {};
  plain one;
  ASSERT_TRUE(one.lock_existing());
  one.mark_obsolete();
  plain copy(one);
  EXPECT_TRUE(copy.lock_existing());
  copy = one;
  copy.unlock();
  EXPECT_TRUE(copy.try_lock_existing());
}

TEST(rcu_existing, is_of_no_object_at_first) {
  rcu_existing<session> none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), nullptr);
  none.unlock();
}

TEST(rcu_existing, holds_the_lock_until_its_end_and_where_it_is_moved_to) {
  session one, two;
  const auto lock = [](session& of) { return rcu_lock_existing([&of] { return &of; }); };
  {
    auto held = lock(one);
    EXPECT_EQ(held.get(), &one);
    EXPECT_EQ(&*held, &one);
    EXPECT_EQ(held->number, 0);
    auto moved = std::move(held);
    EXPECT_FALSE(held);
    EXPECT_FALSE(one.try_lock_existing());
    moved = lock(two);
    EXPECT_TRUE(one.try_lock_existing());
    one.unlock();
    EXPECT_FALSE(two.try_lock_existing());
    moved.unlock();
    EXPECT_FALSE(moved);
    EXPECT_TRUE(two.try_lock_existing());
    two.unlock();
    moved = lock(one);
  }
  EXPECT_TRUE(one.try_lock_existing());
  one.unlock();
}

TEST(rcu_lock_existing, finds_nothing_where_nothing_is) {
  table sessions(nullptr);
  EXPECT_FALSE(sessions.find());
  EXPECT_FALSE(sessions.remove());
}

TEST(rcu_lock_existing, passes_on_an_exception_outside_of_sections) {
  const auto find = []() -> session* { throw std::runtime_error("none"); };
  EXPECT_THROW(static_cast<void>(rcu_lock_existing(find)), std::runtime_error);
  readmost::rcu_synchronize();  // would wait for ever inside one
}

TEST(rcu_lock_existing, leaves_its_section_and_keeps_the_object) {
  table sessions(new session(1));
  {
    const auto found = sessions.find();
    readmost::rcu_synchronize();  // nobody waits for the lock
    EXPECT_EQ(found->number, 1);
  }
  EXPECT_TRUE(sessions.remove());
  rcu_barrier();
  EXPECT_EQ(session::alive, 0);
}

TEST(rcu_lock_existing, finds_the_successor_of_an_object_that_is_removed_meanwhile) {
  session two(2);
  table sessions(new session(1));
  helper_thread user;
  {
    auto found = sessions.find();
    user.begin([&] { return sessions.find()->number; });
    EXPECT_TRUE(user.falls_asleep());
    sessions.only = &two;
    found.make_obsolete()->retire();
  }
  EXPECT_EQ(user.end(), 2);
  rcu_barrier();
  EXPECT_EQ(session::alive, 1);
}

TEST(rcu_lock_existing, the_object_outlives_the_threads_that_wait_for_its_lock) {
  table sessions(new session(1));
  helper_thread user;
  {
    auto found = sessions.find();
    user.begin([&] { return sessions.find() ? 1 : 0; });
    EXPECT_TRUE(user.falls_asleep());
    sessions.only = nullptr;
    session* const removed = found.get();
    removed->mark_obsolete();
    removed->retire();
    readmost::rcu_hurry();
    std::this_thread::yield();
    EXPECT_EQ(session::alive, 1);
    found.unlock();
  }
  EXPECT_EQ(user.end(), 0);
  rcu_barrier();
  EXPECT_EQ(session::alive, 0);
}

// Uses are counted under the lock; no use is of a session that has been removed.
TEST(rcu_lock_existing, loses_no_use_whatever_is_removed_and_replaced_meanwhile) {
  constexpr int keys = 4;
  constexpr int rounds = 100'000;
  readmost::rcu_hash_map<int, session*> sessions;
  for (int key = 0; key < keys; ++key) sessions.insert_or_assign(key, new session(key));
  const auto find = [&sessions](int key) {
    return rcu_lock_existing([&sessions, key] {
      const auto found = sessions.find(key);
      return found == sessions.end() ? nullptr : found->second;
    });
  };
  std::atomic<int> wrong{0}, uses{0}, settled{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < rounds; ++i) {
        const int key = (i + thread) % keys;
        if (i % 8 == 7) {
          auto found = find(key);
          if (!found) {
            ++wrong;
            continue;
          }
          settled += found->uses;
          sessions.insert_or_assign(key, new session(key));
          found.make_obsolete()->retire();
        } else if (const auto found = find(key)) {
          if (found->number != key) ++wrong;
          ++found->uses;
          ++uses;
        } else {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (int key = 0; key < keys; ++key) {
    auto found = find(key);
    settled += found->uses;
    sessions.erase(key);
    found.make_obsolete()->retire();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(settled, uses);
  rcu_barrier();
  EXPECT_EQ(session::alive, 0);
}

}  // namespace
