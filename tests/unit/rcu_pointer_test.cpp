// SPDX-License-Identifier: Apache-2.0
// Pointers that RCU readers follow, and the owning slot.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <readmost/rcu_pointer.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allocation_limit.hpp"
#include "counted.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_obj_base;
using readmost::rcu_pointer;
using readmost::rcu_reader;
using test::counted;

struct intrusive : counted, rcu_obj_base<intrusive> {
  using counted::counted;
};

static_assert(sizeof(rcu_pointer<int>) == sizeof(int*));
static_assert(sizeof(readmost::domain_rcu_pointer<int>) == 2 * sizeof(int*));
static_assert(!std::is_default_constructible_v<readmost::domain_rcu_pointer<int>>);
static_assert(!std::is_copy_constructible_v<rcu_pointer<int>>);
static_assert(!std::is_constructible_v<rcu_pointer<int>, int*>);
static_assert(noexcept(std::declval<rcu_pointer<intrusive>&>().assign(nullptr)));
static_assert(!noexcept(std::declval<rcu_pointer<counted>&>().assign(nullptr)));

TEST(rcu_pointer, what_is_assigned_is_what_is_dereferenced) {
  int one = 1;
  std::atomic<const int*> shared{nullptr};
  const rcu_reader section;
  EXPECT_EQ(readmost::rcu_dereference(shared), nullptr);
  readmost::rcu_assign_pointer(shared, &one);
  EXPECT_EQ(readmost::rcu_dereference(shared), &one);
}

TEST(rcu_pointer, holds_nothing_at_first) {
  const rcu_pointer<int> slot;
  const rcu_reader section;
  EXPECT_FALSE(slot);
  EXPECT_EQ(slot.load(), nullptr);
}

TEST(rcu_pointer, deletes_what_it_holds_with_itself) {
  {
    const rcu_pointer<counted> slot(std::make_unique<counted>(7));
    EXPECT_TRUE(slot);
    const rcu_reader section;
    EXPECT_EQ(slot.load()->value, 7);
  }
  EXPECT_EQ(counted::alive, 0);
}

template <class T>
class rcu_pointer_of : public testing::Test {};
using kinds = testing::Types<counted, const counted, intrusive, const intrusive>;
TYPED_TEST_SUITE(rcu_pointer_of, kinds);

TYPED_TEST(rcu_pointer_of, keeps_what_is_replaced_until_its_readers_have_left) {
  rcu_pointer<TypeParam> slot(std::make_unique<TypeParam>(1));
  {
    const rcu_reader section;
    const TypeParam* const old = slot.load();
    slot.assign(std::make_unique<TypeParam>(2));
    EXPECT_EQ(slot.load()->value, 2);
    readmost::rcu_hurry();
    std::this_thread::yield();
    EXPECT_EQ(old->value, 1);
    EXPECT_EQ(counted::alive, 2);
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 1);
  slot.reset();
  EXPECT_FALSE(slot);
  rcu_barrier();
  EXPECT_EQ(counted::alive, 0);
  slot.reset();  // nothing to retire
}

TEST(rcu_pointer, gives_what_is_exchanged_back) {
  rcu_pointer<counted> slot(std::make_unique<counted>(1));
  const std::unique_ptr<counted> old(slot.exchange(std::make_unique<counted>(2)));
  EXPECT_EQ(old->value, 1);
  EXPECT_EQ(std::unique_ptr<counted>(slot.exchange(nullptr))->value, 2);
  EXPECT_FALSE(slot);
}

TEST(rcu_pointer, retires_in_the_domain_that_is_given) {
  readmost::separate_rcu_domain other;
  readmost::domain_rcu_pointer<counted> slot(other, std::make_unique<counted>(1));
  readmost::domain_rcu_pointer<intrusive> by_itself(other, std::make_unique<intrusive>(1));
  EXPECT_EQ(&slot.domain(), &other);
  const rcu_reader section;  // of the default domain: does not keep it
  slot.assign(std::make_unique<counted>(2));
  by_itself.reset();
  EXPECT_TRUE(slot.update([](counted& copy) { ++copy.value; }));
  slot.reset();
  rcu_barrier(other);
  EXPECT_EQ(counted::alive, 0);
}

// A member that retired in another domain than that of the readers would delete what they read.
TEST(rcu_pointer, keeps_what_readers_of_its_domain_use) {
  readmost::separate_rcu_domain own;
  readmost::domain_rcu_pointer<counted> slot(own, std::make_unique<counted>(1));
  {
    const rcu_reader section(own);
    const counted* const old = slot.load();
    slot.assign(std::make_unique<counted>(2));
    EXPECT_TRUE(slot.update([](counted& copy) { copy.value = 3; }));
    slot.reset();
    rcu_barrier();
    EXPECT_EQ(counted::alive, 3);
    EXPECT_EQ(old->value, 1);
  }
  rcu_barrier(own);
  EXPECT_EQ(counted::alive, 0);
}

TYPED_TEST(rcu_pointer_of, exchanges_what_is_expected_alone) {
  rcu_pointer<TypeParam> slot(std::make_unique<TypeParam>(1));
  auto fresh = std::make_unique<TypeParam>(2);
  typename rcu_pointer<TypeParam>::owner same(fresh.release());
  {
    const rcu_reader section;
    TypeParam* expected = nullptr;
    EXPECT_FALSE(slot.compare_exchange(expected, same));
    ASSERT_EQ(expected, slot.load());
    EXPECT_EQ(same->value, 2);
    EXPECT_TRUE(slot.compare_exchange(expected, same));
    EXPECT_EQ(same, nullptr);
    EXPECT_EQ(slot.load()->value, 2);
    EXPECT_EQ(expected->value, 1);
    readmost::rcu_hurry();
    EXPECT_EQ(counted::alive, 2);
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 1);
}

TYPED_TEST(rcu_pointer_of, updates_a_copy) {
  rcu_pointer<TypeParam> slot;
  EXPECT_FALSE(slot.update([](auto&) { FAIL(); }));
  slot.assign(std::make_unique<TypeParam>(1));
  EXPECT_TRUE(slot.update([](auto& copy) { copy.value += 1; }));
  EXPECT_FALSE(slot.update([](auto& copy) {
    copy.value = 100;
    return false;
  }));
  EXPECT_TRUE(slot.update([](auto& copy) {
    copy.value *= 10;
    return true;
  }));
  EXPECT_THROW(slot.update([](auto&) { throw std::runtime_error("update"); }), std::runtime_error);
  EXPECT_FALSE(readmost::detail::is_in_section(0));
  {
    const rcu_reader section;
    EXPECT_EQ(slot.load()->value, 20);
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 1);
}

TEST(rcu_pointer, an_update_begins_again_when_another_came_first) {
  rcu_pointer<counted> slot(std::make_unique<counted>(1));
  int calls = 0;
  EXPECT_TRUE(slot.update([&](counted& copy) {
    if (++calls == 1) slot.assign(std::make_unique<counted>(5));
    copy.value += 1;
  }));
  EXPECT_EQ(calls, 2);
  const rcu_reader section;
  EXPECT_EQ(slot.load()->value, 6);
}

TEST(rcu_pointer, loses_no_update) {
  rcu_pointer<counted> slot(std::make_unique<counted>(0));
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 2'000; ++n) slot.update([](counted& copy) { ++copy.value; });
    });
  }
  for (std::thread& each : writers) each.join();
  const rcu_reader section;
  EXPECT_EQ(slot.load()->value, 8'000);
}

// Has state, and cannot be default constructed.
struct counting_deleter {
  explicit counting_deleter(std::atomic<int>& count) : deleted(&count) {}
  void operator()(const counted* old) const {
    ++*deleted;
    delete old;
  }
  std::atomic<int>* deleted;
};

TEST(rcu_pointer, its_deleter_may_have_state) {
  std::atomic<int> deleted{0}, not_used{0};
  using slot_type = rcu_pointer<counted, counting_deleter>;
  using owner = slot_type::owner;
  {
    slot_type slot(owner(new counted(1), counting_deleter(deleted)));
    slot.assign(owner(new counted(2), counting_deleter(not_used)));
    EXPECT_TRUE(slot.update([](counted& copy) { copy.value = 3; }));
    slot.reset();
    rcu_barrier();
    EXPECT_EQ(deleted, 3);
    slot.assign(owner(new counted(4), counting_deleter(not_used)));
  }
  EXPECT_EQ(deleted, 4);
  EXPECT_EQ(not_used, 0);
  EXPECT_EQ(counted::alive, 0);
}

int deleted_by_own_deleter = 0;
struct own_deleter {
  void operator()(const counted* old) const {
    ++deleted_by_own_deleter;
    delete old;
  }
};

TEST(rcu_pointer, calls_the_deleter_it_is_given) {
  using slot_type = rcu_pointer<counted, own_deleter>;
  {
    slot_type slot(slot_type::owner(new counted(1)));
    slot.assign(slot_type::owner(new counted(2)));
    rcu_barrier();
    EXPECT_EQ(deleted_by_own_deleter, 1);
  }
  EXPECT_EQ(deleted_by_own_deleter, 2);
  EXPECT_EQ(counted::alive, 0);
}

TEST(rcu_pointer, keeps_the_old_object_when_there_is_no_memory_to_retire_it) {
  SKIP_WHERE_MEMORY_CANNOT_RUN_OUT();
  rcu_pointer<counted> slot(std::make_unique<counted>(1));
  auto fresh = std::make_unique<counted>(2);
  {
    const test::allocation_limit none(0);
    EXPECT_THROW(slot.assign(std::move(fresh)), std::bad_alloc);
    EXPECT_THROW(slot.reset(), std::bad_alloc);
  }
  const rcu_reader section;
  EXPECT_EQ(slot.load()->value, 1);
  EXPECT_EQ(counted::alive, 1);
}

TEST(rcu_pointer, retires_without_memory_what_can_be_retired_by_itself) {
  rcu_pointer<intrusive> slot(std::make_unique<intrusive>(1));
  auto fresh = std::make_unique<intrusive>(2);
  {
    const test::allocation_limit none(0);
    slot.assign(std::move(fresh));
  }
  slot.reset();
  rcu_barrier();
  EXPECT_EQ(counted::alive, 0);
}

// Two halves that a reader must see together, and alive.
struct halves : rcu_obj_base<halves> {
  explicit halves(int n) : left(n), right(-n) {}
  ~halves() { left = right = 1; }
  int left, right;
};

TEST(rcu_pointer, readers_see_whole_objects_while_several_writers_replace_them) {
  rcu_pointer<halves> slot(std::make_unique<halves>(1));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        const rcu_reader section;
        const halves* const now = slot.load();
        if (now->left + now->right != 0) ++wrong;
      }
    });
  }
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&, i] {
      for (int n = 0; n < 20'000; ++n) slot.assign(std::make_unique<halves>(2 * n + i));
    });
  }
  for (std::thread& each : writers) each.join();
  stop = true;
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
