// SPDX-License-Identifier: Apache-2.0
// rcu_obj_base as a base of the user's class: what it adds to the class, and what it asks of its
// deleter. hazard_pointer_test.cpp has the same of hazard_pointer_obj_base.
#include <gtest/gtest.h>

#include <memory>
#include <readmost/rcu.hpp>
#include <type_traits>

namespace {

using readmost::rcu_barrier;
using readmost::rcu_obj_base;

struct to_nobody {
  template <class T>
  void operator()(T*) const {}
};
struct with_deleter : rcu_obj_base<with_deleter, to_nobody> {
  int value = 0;
};
// [saferecl.rcu.base]: trivially copyable if the deleter is.
static_assert(std::is_trivially_copyable_v<with_deleter>);
static_assert(std::is_nothrow_move_constructible_v<with_deleter>);
static_assert(std::is_nothrow_move_assignable_v<with_deleter>);
static_assert(!std::is_constructible_v<rcu_obj_base<with_deleter, to_nobody>>);
struct only_base : rcu_obj_base<only_base> {};
static_assert(sizeof(only_base) == 2 * sizeof(void*));

// Names that a user's class has from elsewhere.
struct names {
  int next = 1, kind = 2, link = 3, deleter = 4, retired = 5;
};
struct with_names : names, rcu_obj_base<with_names> {
  static inline int sum_at_end = 0;
  int sum() const { return next + kind + link + deleter + retired; }
  ~with_names() { sum_at_end = sum(); }
};

TEST(rcu_obj_base, leaves_a_class_its_names) {
  with_names::sum_at_end = 0;
  (new with_names)->retire();
  rcu_barrier();
  EXPECT_EQ(with_names::sum_at_end, 15);
}

// A base that is not the first, under a class with virtual functions.
struct polymorphic {
  virtual ~polymorphic() = default;
  int before = 7;
};
struct behind : polymorphic, rcu_obj_base<behind> {
  static inline int found = 0;
  int after = 8;
  ~behind() override { found = before + after; }
};

TEST(rcu_obj_base, finds_the_object_behind_another_base) {
  behind::found = 0;
  (new behind)->retire();
  rcu_barrier();
  EXPECT_EQ(behind::found, 15);
}

struct assigned_only;
struct assigning_deleter {
  int* where = nullptr;
  assigning_deleter() = default;
  explicit assigning_deleter(int& count) : where(&count) {}
  assigning_deleter(assigning_deleter&&) = delete;
  assigning_deleter& operator=(assigning_deleter&& other) noexcept {
    where = other.where;
    return *this;
  }
  void operator()(assigned_only*) const { ++*where; }
};
struct assigned_only : rcu_obj_base<assigned_only, assigning_deleter> {};
static_assert(!std::is_copy_constructible_v<assigned_only>);

TEST(rcu_obj_base, asks_of_deleters_only_to_be_assigned) {
  int calls = 0;
  assigned_only object;
  object.retire(assigning_deleter(calls));
  rcu_barrier();
  EXPECT_EQ(calls, 1);
}

TEST(rcu_obj_base, copies_an_object_that_is_not_retired_with_it) {
  auto* const original = new with_deleter;
  original->value = 3;
  with_deleter copy(*original);
  EXPECT_EQ(copy.value, 3);
  original->retire();
  rcu_barrier();
  copy.retire();
  rcu_barrier();
  delete original;
}

}  // namespace
