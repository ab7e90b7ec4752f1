// SPDX-License-Identifier: Apache-2.0
// The allocator of the concurrent hash map: all memory comes from it and returns to it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <readmost/rcu_hash_map.hpp>
#include <string>
#include <utility>

#include "allocation_limit.hpp"
#include "counted.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_hash_map;
using readmost::rcu_reader;
using test::counted;

// What allocators of one kind have given; any thread may give memory back.
struct account {
  std::atomic<long> bytes{0};
  std::atomic<int> blocks{0};
  bool is_empty = false;
};

// Refers to an account; can be neither assigned nor made without one.
template <class T>
class counting_allocator {
 public:
  using value_type = T;

  explicit counting_allocator(account& of) noexcept : of_(&of) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) noexcept : of_(&other.of()) {}
  counting_allocator(const counting_allocator&) = default;
  counting_allocator& operator=(const counting_allocator&) = delete;

  T* allocate(std::size_t count) {
    if (of_->is_empty) throw std::bad_alloc();
    ++of_->blocks;
    of_->bytes += static_cast<long>(count * sizeof(T));
    return static_cast<T*>(std::malloc(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    --of_->blocks;
    of_->bytes -= static_cast<long>(count * sizeof(T));
    std::free(memory);
  }
  account& of() const noexcept { return *of_; }
  bool operator==(const counting_allocator& other) const noexcept { return of_ == other.of_; }

 private:
  account* of_;
};

using counting = counting_allocator<std::pair<const int, counted>>;
using counted_map = rcu_hash_map<int, counted, std::hash<int>, std::equal_to<int>, counting>;
using plain_map = rcu_hash_map<int, int>;

static_assert(std::is_same_v<plain_map::allocator_type, std::allocator<std::pair<const int, int>>>);
// An allocator without state takes no room in an element.
static_assert(
    sizeof(readmost::detail::map_element<std::pair<const int, int>, plain_map::allocator_type>) ==
    5 * sizeof(void*));

void fill(counted_map& map, int count) {
  for (int i = 0; i < count; ++i) map.try_emplace(i, i);
}

TEST(allocator_of_rcu_hash_map, gives_all_memory_and_gets_all_back) {
  account its;
  {
    counted_map map{counting(its)};
    const test::allocation_limit none_from_elsewhere(0);
    fill(map, 1'000);
    for (int i = 0; i < 1'000; ++i) map.update(i, [](counted& value) { ++value.value; });
    map.upsert(1'000, [](counted&) {}, 7);
    map.insert_or_assign(1'000, counted(8));
    map.rehash(4'096);
    map.erase_if([](const auto& each) { return each.first % 2 == 0; });
    map.rehash(0);
    EXPECT_EQ(map.get_allocator(), counting(its));
    EXPECT_GT(its.blocks, 500);
  }
  rcu_barrier();
  EXPECT_EQ(its.blocks, 0);
  EXPECT_EQ(its.bytes, 0);
  EXPECT_EQ(counted::alive, 0);
}

TEST(allocator_of_rcu_hash_map, goes_along_when_maps_are_moved_and_swapped) {
  account one;
  account two;
  {
    counted_map map{counting(one)};
    counted_map other{counting(two)};
    fill(map, 100);
    swap(map, other);
    EXPECT_EQ(map.get_allocator(), counting(two));
    EXPECT_EQ(other.get_allocator(), counting(one));
    const int before = two.blocks;
    fill(map, 10);
    EXPECT_EQ(two.blocks, before + 10);

    counted_map third(std::move(other));
    EXPECT_EQ(third.get_allocator(), counting(one));
    EXPECT_EQ(third.size(), 100U);
    other.try_emplace(1, 1);
    map = std::move(third);
    EXPECT_EQ(map.get_allocator(), counting(one));
    EXPECT_EQ(map.size(), 100U);
  }
  rcu_barrier();
  EXPECT_EQ(one.blocks, 0);
  EXPECT_EQ(two.blocks, 0);
}

TEST(allocator_of_rcu_hash_map, may_have_nothing_left) {
  account its;
  {
    counted_map map{counting(its)};
    map.automatic_resizing(false);
    fill(map, 100);
    const int before = its.blocks;
    its.is_empty = true;
    EXPECT_THROW(map.try_emplace(100, 1), std::bad_alloc);
    EXPECT_THROW(map.insert_or_assign(1, counted(2)), std::bad_alloc);
    EXPECT_THROW(map.update(1, [](counted&) {}), std::bad_alloc);
    EXPECT_THROW(counted_map{counting(its)}, std::bad_alloc);
    map.rehash(1'024);
    EXPECT_EQ(map.bucket_count(), 16U);
    EXPECT_EQ(map.size(), 100U);
    EXPECT_EQ(map.get(1)->value, 1);
    EXPECT_EQ(its.blocks, before);
    its.is_empty = false;
    map.rehash(1'024);
    EXPECT_EQ(map.bucket_count(), 1'024U);
  }
  rcu_barrier();
  EXPECT_EQ(its.blocks, 0);
}

TEST(allocator_of_rcu_hash_map, gets_the_memory_of_an_element_back_that_is_not_made) {
  account its;
  counted_map map{counting(its)};
  map.try_emplace(1, 1);
  const int before = its.blocks;
  counted::copies_fail = true;
  EXPECT_THROW(map.update(1, [](counted&) {}), std::runtime_error);
  counted::copies_fail = false;
  EXPECT_FALSE(map.emplace(1, counted(2)));
  EXPECT_EQ(its.blocks, before);
}

TEST(allocator_of_rcu_hash_map, may_be_needed_after_the_end_of_the_map) {
  account its;
  {
    const rcu_reader section;
    {
      counted_map map{counting(its)};
      fill(map, 10);
      map.clear();
    }
    EXPECT_EQ(its.blocks, 10);
    EXPECT_EQ(counted::alive, 10);
  }
  rcu_barrier();
  EXPECT_EQ(its.blocks, 0);
}

TEST(allocator_of_rcu_hash_map, makes_the_values) {
  using text = std::pmr::string;
  using texts = rcu_hash_map<text, text, std::hash<text>, std::equal_to<text>,
                             std::pmr::polymorphic_allocator<std::pair<const text, text>>>;
  std::pmr::synchronized_pool_resource pool;
  {
    texts map(&pool);
    const std::string value(100, 'v');
    map.try_emplace(text("key"), value.c_str());
    map.insert_or_assign(text("other"), value.c_str());
    map.update(text("key"), [](text& copy) { copy += '!'; });
    const rcu_reader section;
    for (const auto& [key, mapped] : map) {
      EXPECT_EQ(key.get_allocator().resource(), &pool);
      EXPECT_EQ(mapped.get_allocator().resource(), &pool);
    }
    EXPECT_EQ(map.at(text("key")).size(), 101U);
  }
  rcu_barrier();
}

}  // namespace
