// SPDX-License-Identifier: Apache-2.0
// The intrusive list whose readers run while it is changed.
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <memory>
#include <readmost/rcu_list.hpp>
#include <thread>
#include <vector>

#include "linked_elements.hpp"
#include "support/helper_thread.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_list;
using readmost::rcu_list_hook;
using readmost::rcu_reader;
using test::helper_thread;
using test::ints;
using test::numbers;
using test::wait_until;

using by_base = test::element_by_base<rcu_list_hook>;
using by_member = test::element_by_member<rcu_list_hook>;

// Its hook is not where the offset in the class that declares it says.
struct something_before {
  long before[3] = {};
};
struct by_inherited_member : something_before, by_member {
  using by_member::by_member;
};
// The hook of a base, reached as a base of a member.
struct hook_of_its_own : something_before, rcu_list_hook {};
struct by_derived_hook {
  explicit by_derived_hook(int n) : number(n) {}
  int number;
  hook_of_its_own hook;
};

static_assert(std::forward_iterator<rcu_list<by_base>::const_iterator>);
static_assert(std::bidirectional_iterator<rcu_list<by_base>::iterator>);
static_assert(!std::is_copy_constructible_v<rcu_list<by_base>>);
// Readers get const access only.
static_assert(
    std::is_same_v<decltype(*std::declval<rcu_list<by_base>&>().begin()), const by_base&>);

// The elements by their backward links.
template <class List>
ints numbers_backwards(List& list) {
  ints all;
  const auto view = list.writable();
  for (auto each = view.end(); each != view.begin();) all.push_back((--each)->number);
  return all;
}

template <class List>
void expect_numbers(List& list, const ints& expected) {
  EXPECT_EQ(numbers(list), expected);
  EXPECT_EQ(numbers_backwards(list), ints(expected.rbegin(), expected.rend()));
}

struct base_way {
  using element = by_base;
  using list = rcu_list<by_base>;
};
struct member_way {
  using element = by_member;
  using list = rcu_list<by_member, &by_member::hook>;
};
struct second_member_way {
  using element = by_member;
  using list = rcu_list<by_member, &by_member::other_hook>;
};
struct inherited_member_way {
  using element = by_inherited_member;
  using list = rcu_list<by_inherited_member, &by_inherited_member::hook>;
};
struct derived_hook_way {
  using element = by_derived_hook;
  using list = rcu_list<by_derived_hook, &by_derived_hook::hook>;
};

template <class Way>
class rcu_list_of : public testing::Test {
 protected:
  using element = typename Way::element;
  typename Way::list list;
  element one{1}, two{2}, three{3}, four{4};
};
using ways =
    testing::Types<base_way, member_way, second_member_way, inherited_member_way, derived_hook_way>;
TYPED_TEST_SUITE(rcu_list_of, ways);

TYPED_TEST(rcu_list_of, is_empty_at_first) {
  EXPECT_TRUE(this->list.empty());
  expect_numbers(this->list, {});
}

TYPED_TEST(rcu_list_of, keeps_elements_where_they_are_put) {
  this->list.push_back(this->two);
  this->list.push_front(this->one);
  this->list.push_back(this->four);
  this->list.insert_before(this->four, this->three);
  EXPECT_FALSE(this->list.empty());
  expect_numbers(this->list, {1, 2, 3, 4});
}

TYPED_TEST(rcu_list_of, inserts_after_any_element) {
  this->list.push_back(this->one);
  this->list.insert_after(this->one, this->three);
  this->list.insert_after(this->one, this->two);
  this->list.insert_after(this->three, this->four);
  expect_numbers(this->list, {1, 2, 3, 4});
}

TYPED_TEST(rcu_list_of, inserts_before_the_first_element) {
  this->list.push_back(this->two);
  this->list.insert_before(this->two, this->one);
  expect_numbers(this->list, {1, 2});
}

TYPED_TEST(rcu_list_of, erases_first_middle_and_last) {
  for (auto* each : {&this->one, &this->two, &this->three, &this->four})
    this->list.push_back(*each);
  this->list.erase(this->two);
  expect_numbers(this->list, {1, 3, 4});
  this->list.erase(this->four);
  expect_numbers(this->list, {1, 3});
  this->list.erase(this->one);
  expect_numbers(this->list, {3});
  this->list.erase(this->three);
  expect_numbers(this->list, {});
  EXPECT_TRUE(this->list.empty());
}

TYPED_TEST(rcu_list_of, a_reader_goes_on_from_an_erased_element) {
  for (auto* each : {&this->one, &this->two, &this->three}) this->list.push_back(*each);
  const rcu_reader section;
  auto at = std::next(this->list.begin());
  this->list.erase(this->two);
  EXPECT_EQ(at->number, 2);
  this->list.push_back(this->four);
  EXPECT_EQ((++at)->number, 3);
  this->list.erase(this->three);
  EXPECT_EQ((++at)->number, 4);
  EXPECT_TRUE(++at == this->list.end());
}

TYPED_TEST(rcu_list_of, replaces_an_element_in_its_place) {
  this->list.push_back(this->one);
  this->list.push_back(this->two);
  const rcu_reader section;
  const auto at = this->list.begin();
  this->list.replace(this->one, this->three);
  expect_numbers(this->list, {3, 2});
  EXPECT_EQ(at->number, 1);
  EXPECT_EQ(std::next(at)->number, 2);
  this->list.replace(this->two, this->four);
  expect_numbers(this->list, {3, 4});
}

TYPED_TEST(rcu_list_of, the_writer_walks_changes_and_erases) {
  for (auto* each : {&this->one, &this->two, &this->three}) this->list.push_back(*each);
  const auto view = this->list.writable();
  for (auto each = view.begin(); each != view.end();) {
    if (each->number == 2) {
      each = this->list.erase(each);
    } else {
      each++->number += 10;
    }
  }
  expect_numbers(this->list, {11, 13});
}

TYPED_TEST(rcu_list_of, clears_and_gives_out_each_element_in_order) {
  for (auto* each : {&this->one, &this->two, &this->three}) this->list.push_back(*each);
  const rcu_reader section;
  auto reader = this->list.begin();
  ints given;
  this->list.clear([&](auto& each) { given.push_back(each.number); });
  EXPECT_EQ(given, (ints{1, 2, 3}));
  expect_numbers(this->list, {});
  EXPECT_EQ((++reader)->number, 2);
  EXPECT_EQ((++reader)->number, 3);
  EXPECT_TRUE(++reader == this->list.end());
}

TYPED_TEST(rcu_list_of, splices_in_front_and_behind) {
  typename TypeParam::list other;
  this->list.push_back(this->one);
  other.push_back(this->two);
  other.push_back(this->three);
  this->list.splice_back(other);
  expect_numbers(this->list, {1, 2, 3});
  expect_numbers(other, {});
  other.push_back(this->four);
  this->list.splice_front(other);
  expect_numbers(this->list, {4, 1, 2, 3});
  this->list.splice_front(other);
  this->list.splice_back(other);
  expect_numbers(this->list, {4, 1, 2, 3});
  other.splice_back(this->list);
  expect_numbers(other, {4, 1, 2, 3});
  EXPECT_TRUE(this->list.empty());
}

TYPED_TEST(rcu_list_of, pops_at_both_ends) {
  EXPECT_EQ(this->list.pop_front(), nullptr);
  EXPECT_EQ(this->list.pop_back(), nullptr);
  for (auto* each : {&this->one, &this->two, &this->three}) this->list.push_back(*each);
  EXPECT_EQ(this->list.pop_front(), &this->one);
  EXPECT_EQ(this->list.pop_back(), &this->three);
  expect_numbers(this->list, {2});
  EXPECT_EQ(this->list.pop_back(), &this->two);
  EXPECT_TRUE(this->list.empty());
}

TYPED_TEST(rcu_list_of, erases_what_a_function_chooses) {
  for (auto* each : {&this->one, &this->two, &this->three, &this->four})
    this->list.push_back(*each);
  ints given;
  const auto is_even = [](const auto& each) { return each.number % 2 == 0; };
  EXPECT_EQ(this->list.erase_if(is_even, [&](auto& each) { given.push_back(each.number); }), 2U);
  EXPECT_EQ(given, (ints{2, 4}));
  expect_numbers(this->list, {1, 3});
  EXPECT_EQ(this->list.erase_if(is_even, [](auto&) { FAIL(); }), 0U);
}

// One that retired in the default domain would delete what the readers use.
TEST(rcu_list, retires_in_its_domain_and_waits_for_the_readers_of_that) {
  readmost::separate_rcu_domain own;
  readmost::domain_rcu_list<by_base> list(own), other(own);
  const std::uint64_t before = readmost::rcu_statistics_of(own).reclaimed;
  EXPECT_EQ(&list.domain(), &own);
  for (int i = 0; i < 4; ++i) list.push_back(*new by_base(i));
  helper_thread writer;
  {
    const rcu_reader section(own);
    auto at = list.begin();
    list.erase_and_retire(*list.writable().begin());
    EXPECT_EQ(list.erase_if([](const by_base& each) { return each.number == 1; }), 1U);
    rcu_barrier();  // of the default domain, where nothing may be
    ints met;       // an erased element leads to the one that came after it then
    for (; at != list.end(); ++at) met.push_back(at->number);
    EXPECT_EQ(met, (ints{0, 1, 2, 3}));
    writer.begin([&] { other.splice_back(list); });
    EXPECT_TRUE(writer.falls_asleep());
  }
  EXPECT_EQ(writer.end(), 0);
  const rcu_reader section;  // of another domain: does not keep anything
  other.clear();
  EXPECT_TRUE(other.empty());
  rcu_barrier(own);
  EXPECT_EQ(readmost::rcu_statistics_of(own).reclaimed - before, 4U);
}

TEST(rcu_list_hook, tells_whether_it_is_linked) {
  rcu_list<by_base> list;
  by_base one(1), two(2), three(3);
  EXPECT_FALSE(one.is_linked());
  list.push_back(one);
  list.push_back(two);
  EXPECT_TRUE(one.is_linked());
  list.erase(one);
  EXPECT_FALSE(one.is_linked());
  list.replace(two, three);
  EXPECT_FALSE(two.is_linked());
  EXPECT_TRUE(three.is_linked());
  list.clear([](by_base&) {});
  EXPECT_FALSE(three.is_linked());
}

TEST(rcu_list_hook, is_in_no_list_when_its_element_is_a_copy) {
  rcu_list<by_base> list;
  by_base one(1);
  list.push_back(one);
  by_base copy(one);
  EXPECT_FALSE(copy.is_linked());
  copy.number = 2;
  list.push_back(copy);
  one = copy;  // stays where it is
  expect_numbers(list, {2, 2});
}

TEST(rcu_list, an_element_may_be_in_one_list_for_each_hook) {
  rcu_list<by_member, &by_member::hook> up;
  rcu_list<by_member, &by_member::other_hook> down;
  by_member one(1), two(2);
  for (by_member* each : {&one, &two}) {
    up.push_back(*each);
    down.push_front(*each);
  }
  expect_numbers(up, {1, 2});
  expect_numbers(down, {2, 1});
  up.erase(one);
  expect_numbers(up, {2});
  expect_numbers(down, {2, 1});
}

// A reader of one list must not stray into the other, whose end it would not recognise.
TEST(rcu_list, a_splice_waits_for_the_readers_of_the_list_that_it_empties) {
  rcu_list<by_base> from, to;
  by_base one(1), two(2), three(3);
  from.push_back(one);
  from.push_back(two);
  to.push_back(three);
  helper_thread writer;
  {
    const rcu_reader section;
    auto at = from.begin();
    writer.begin([&] { to.splice_front(from); });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_EQ((++at)->number, 2);
    EXPECT_TRUE(++at == from.end());
    EXPECT_TRUE(writer.in_call());
  }
  EXPECT_EQ(writer.end(), 0);
  expect_numbers(to, {1, 2, 3});
}

// Even numbers stay, odd ones come and go between them.
TEST(rcu_list, readers_meet_what_stays_once_and_in_order_whatever_comes_and_goes) {
  constexpr int staying = 20;
  rcu_list<by_base> list;
  std::vector<by_base*> even;
  for (int i = 0; i < staying; ++i) {
    even.push_back(new by_base(2 * i));
    list.push_back(*even.back());
  }
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> walks{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const rcu_reader section;
        int last = -1;
        int met = 0;
        for (const by_base& each : list) {
          if (each.number <= last) ++wrong;
          last = each.number;
          met += each.number % 2 == 0 ? 1 : 0;
        }
        if (met != staying) ++wrong;
        ++walks;
      }
    });
  }
  std::vector<by_base*> odd(staying, nullptr);
  std::uint32_t lots = 1;
  // Long enough for readers to observe changes on a busy machine too.
  for (int i = 0; i < 60'000 || (walks < 1'000 && i < 10'000'000); ++i) {
    lots = lots * 1664525 + 1013904223;
    const std::size_t place = (lots >> 8) % staying;
    if (odd[place] == nullptr) {
      odd[place] = new by_base(even[place]->number + 1);
      list.insert_after(*even[place], *odd[place]);
    } else if ((lots >> 20) % 2 == 0) {
      list.erase(*odd[place]);
      odd[place]->retire();
      odd[place] = nullptr;
    } else {
      auto* const fresh = new by_base(*even[place]);
      list.replace(*even[place], *fresh);
      even[place]->retire();
      even[place] = fresh;
    }
  }
  stop = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(walks, 1'000);
  list.clear([](by_base& each) { each.retire(); });
  rcu_barrier();
}

}  // namespace
