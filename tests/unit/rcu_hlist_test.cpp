// SPDX-License-Identifier: Apache-2.0
// The intrusive list with a head of one pointer.
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <readmost/rcu_hlist.hpp>
#include <thread>
#include <vector>

#include "linked_elements.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_hlist;
using readmost::rcu_hlist_hook;
using readmost::rcu_reader;
using test::ints;
using test::numbers;

using by_base = test::element_by_base<rcu_hlist_hook>;
using by_member = test::element_by_member<rcu_hlist_hook>;

static_assert(sizeof(rcu_hlist<by_base>) == sizeof(void*));
static_assert(std::forward_iterator<rcu_hlist<by_base>::const_iterator>);
static_assert(std::forward_iterator<rcu_hlist<by_base>::iterator>);
static_assert(!std::is_copy_constructible_v<rcu_hlist<by_base>>);
// Readers get const access only.
static_assert(
    std::is_same_v<decltype(*std::declval<rcu_hlist<by_base>&>().begin()), const by_base&>);

struct base_way {
  using element = by_base;
  using list = rcu_hlist<by_base>;
};
struct member_way {
  using element = by_member;
  using list = rcu_hlist<by_member, &by_member::hook>;
};

template <class Way>
class rcu_hlist_of : public testing::Test {
 protected:
  using element = typename Way::element;
  // Of one, two, three.
  void fill() {
    for (element* each : {&three, &two, &one}) list.push_front(*each);
  }
  typename Way::list list;
  element one{1}, two{2}, three{3}, four{4};
};
using ways = testing::Types<base_way, member_way>;
TYPED_TEST_SUITE(rcu_hlist_of, ways);

TYPED_TEST(rcu_hlist_of, is_empty_at_first) {
  EXPECT_TRUE(this->list.empty());
  EXPECT_EQ(numbers(this->list), ints{});
}

TYPED_TEST(rcu_hlist_of, keeps_elements_where_they_are_put) {
  this->list.push_front(this->two);
  this->list.insert_after(this->two, this->four);
  this->list.insert_before(this->four, this->three);
  this->list.insert_before(this->two, this->one);
  EXPECT_FALSE(this->list.empty());
  EXPECT_EQ(numbers(this->list), (ints{1, 2, 3, 4}));
}

TYPED_TEST(rcu_hlist_of, erases_middle_first_and_last) {
  this->fill();
  this->list.erase(this->two);
  EXPECT_EQ(numbers(this->list), (ints{1, 3}));
  this->list.erase(this->one);
  EXPECT_EQ(numbers(this->list), ints{3});
  this->list.insert_before(this->three, this->four);  // what leads to it has been kept
  EXPECT_EQ(numbers(this->list), (ints{4, 3}));
  this->list.erase(this->three);
  this->list.erase(this->four);
  EXPECT_TRUE(this->list.empty());
}

TYPED_TEST(rcu_hlist_of, a_reader_goes_on_from_an_erased_element) {
  this->fill();
  const rcu_reader section;
  auto at = std::next(this->list.begin());
  this->list.erase(this->two);
  EXPECT_EQ(at->number, 2);
  this->list.insert_after(this->three, this->four);
  EXPECT_EQ((++at)->number, 3);
  this->list.erase(this->three);
  EXPECT_EQ((++at)->number, 4);
  EXPECT_TRUE(++at == this->list.end());
}

TYPED_TEST(rcu_hlist_of, replaces_an_element_in_its_place) {
  this->fill();
  const rcu_reader section;
  const auto at = this->list.begin();
  this->list.replace(this->one, this->four);
  EXPECT_EQ(numbers(this->list), (ints{4, 2, 3}));
  EXPECT_EQ(at->number, 1);
  EXPECT_EQ(std::next(at)->number, 2);
  this->list.replace(this->three, this->one);
  this->list.erase(this->two);
  EXPECT_EQ(numbers(this->list), (ints{4, 1}));
}

TYPED_TEST(rcu_hlist_of, the_writer_walks_and_changes) {
  this->fill();
  for (auto& each : this->list.writable()) each.number += 10;
  EXPECT_EQ(numbers(this->list), (ints{11, 12, 13}));
}

TYPED_TEST(rcu_hlist_of, pops_the_first) {
  EXPECT_EQ(this->list.pop_front(), nullptr);
  this->fill();
  EXPECT_EQ(this->list.pop_front(), &this->one);
  EXPECT_EQ(numbers(this->list), (ints{2, 3}));
  this->list.push_front(this->four);
  EXPECT_EQ(numbers(this->list), (ints{4, 2, 3}));
}

TYPED_TEST(rcu_hlist_of, erases_what_a_function_chooses) {
  this->fill();
  ints given;
  const auto is_odd = [](const auto& each) { return each.number % 2 != 0; };
  EXPECT_EQ(this->list.erase_if(is_odd, [&](auto& each) { given.push_back(each.number); }), 2U);
  EXPECT_EQ(given, (ints{1, 3}));
  EXPECT_EQ(numbers(this->list), ints{2});
  EXPECT_EQ(this->list.erase_if(is_odd, [](auto&) { FAIL(); }), 0U);
}

TYPED_TEST(rcu_hlist_of, clears_and_gives_out_each_element_in_order) {
  this->fill();
  const rcu_reader section;
  auto reader = this->list.begin();
  ints given;
  this->list.clear([&](auto& each) { given.push_back(each.number); });
  EXPECT_EQ(given, (ints{1, 2, 3}));
  EXPECT_TRUE(this->list.empty());
  EXPECT_EQ((++reader)->number, 2);
  EXPECT_EQ((++reader)->number, 3);
  EXPECT_TRUE(++reader == this->list.end());
}

TEST(rcu_hlist_hook, tells_whether_it_is_linked) {
  rcu_hlist<by_base> list;
  by_base one(1), two(2);
  EXPECT_FALSE(one.is_linked());
  list.push_front(one);
  EXPECT_TRUE(one.is_linked());
  by_base copy(one);
  EXPECT_FALSE(copy.is_linked());
  list.replace(one, two);
  EXPECT_FALSE(one.is_linked());
  EXPECT_TRUE(two.is_linked());
  list.erase(two);
  EXPECT_FALSE(two.is_linked());
}

// One that retired in the default domain would delete what the reader uses.
TEST(rcu_hlist, retires_in_its_domain) {
  readmost::separate_rcu_domain own;
  readmost::domain_rcu_hlist<by_base> list(own);
  const std::uint64_t before = readmost::rcu_statistics_of(own).reclaimed;
  EXPECT_EQ(&list.domain(), &own);
  for (int i = 3; i >= 0; --i) list.push_front(*new by_base(i));
  {
    const rcu_reader section(own);
    auto at = list.begin();
    list.erase_and_retire(*list.writable().begin());
    EXPECT_EQ(list.erase_if([](const by_base& each) { return each.number == 1; }), 1U);
    rcu_barrier();  // of the default domain, where nothing may be
    ints met;       // an erased element leads to the one that came after it then
    for (; at != list.end(); ++at) met.push_back(at->number);
    EXPECT_EQ(met, (ints{0, 1, 2, 3}));
  }
  list.clear();
  EXPECT_TRUE(list.empty());
  rcu_barrier(own);
  EXPECT_EQ(readmost::rcu_statistics_of(own).reclaimed - before, 4U);
}

// Even numbers stay, odd ones come and go between them.
TEST(rcu_hlist, readers_meet_what_stays_once_and_in_order_whatever_comes_and_goes) {
  constexpr int staying = 10;
  rcu_hlist<by_base> list;
  std::vector<by_base*> even;
  for (int i = 0; i < staying; ++i) even.push_back(new by_base(2 * i));
  for (int i = staying; i-- > 0;) list.push_front(*even[static_cast<std::size_t>(i)]);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> walks{0};
  std::thread reader([&] {
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
  // Long enough for the reader to observe changes on a busy machine too.
  for (int i = 0; i < 20'000 || (walks < 1'000 && i < 10'000'000); ++i) {
    by_base*& place = even[static_cast<std::size_t>(i) * 7 % staying];
    auto* const odd = new by_base(place->number + 1);
    list.insert_after(*place, *odd);
    auto* const fresh = new by_base(place->number);
    list.replace(*place, *fresh);
    place->retire();
    place = fresh;
    list.erase_and_retire(*odd);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(walks, 1'000);
  list.clear();
  rcu_barrier();
}

}  // namespace
