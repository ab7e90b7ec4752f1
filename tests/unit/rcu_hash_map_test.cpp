// SPDX-License-Identifier: Apache-2.0
// The concurrent hash map: its operations, and resizing that its readers do not notice. Under
// load: rcu_hash_map_stress_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <readmost/rcu_hash_map.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "allocation_limit.hpp"
#include "counted.hpp"
#include "support/helper_thread.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_hash_map;
using readmost::rcu_reader;
using readmost::separate_rcu_domain;
using test::counted;
using test::helper_thread;
using test::wait_until;

using int_map = rcu_hash_map<int, int>;

static_assert(std::forward_iterator<int_map::const_iterator>);
static_assert(std::is_same_v<int_map::const_iterator::reference, const std::pair<const int, int>&>);
static_assert(!std::is_copy_constructible_v<int_map>);

constexpr std::size_t fewest = 16;

template <class Map>
std::vector<int> sorted_keys(const Map& map) {
  std::vector<int> keys;
  map.for_each([&](const auto& each) { keys.push_back(each.first); });
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<int> up_to(int n) {
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(i);
  return all;
}

// --- Elements ------------------------------------------------------------------------------------

TEST(rcu_hash_map, is_empty_at_first) {
  const int_map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.bucket_count(), fewest);
  EXPECT_FALSE(map.contains(1));
  const rcu_reader section;
  EXPECT_TRUE(map.begin() == map.end());
  EXPECT_TRUE(map.find(1) == map.end());
}

TEST(rcu_hash_map, finds_what_is_inserted_and_nothing_else) {
  rcu_hash_map<std::string, int> map;
  EXPECT_TRUE(map.insert({"one", 1}));
  EXPECT_TRUE(map.try_emplace("two", 2));
  EXPECT_TRUE(map.insert_or_assign("three", 3));
  EXPECT_EQ(map.size(), 3U);
  EXPECT_FALSE(map.empty());
  EXPECT_TRUE(map.contains("one"));
  EXPECT_EQ(map.count("two"), 1U);
  EXPECT_EQ(map.count("four"), 0U);
  EXPECT_EQ(map.get("three"), 3);
  EXPECT_EQ(map.get("four"), std::nullopt);
  int seen = 0;
  EXPECT_TRUE(map.visit("two", [&](const int& value) { seen = value; }));
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(map.visit("four", [&](const int&) { seen = 4; }));
  EXPECT_EQ(seen, 2);
  const rcu_reader section;
  const auto found = map.find("one");
  ASSERT_TRUE(found != map.end());
  EXPECT_EQ(found->first, "one");
  EXPECT_EQ(found->second, 1);
  EXPECT_TRUE(map.find("four") == map.end());
}

TEST(rcu_hash_map, inserting_leaves_alone_what_is_there) {
  rcu_hash_map<int, std::string> map;
  EXPECT_TRUE(map.try_emplace(1, "old"));
  std::string fresh = "fresh";
  EXPECT_FALSE(map.try_emplace(1, std::move(fresh)));
  EXPECT_EQ(fresh, "fresh");
  EXPECT_FALSE(map.insert({1, "fresh"}));
  EXPECT_EQ(map.get(1), "old");
  EXPECT_EQ(map.size(), 1U);
}

TEST(rcu_hash_map, takes_what_can_only_be_moved) {
  rcu_hash_map<int, std::unique_ptr<int>> map;
  EXPECT_TRUE(map.try_emplace(1, std::make_unique<int>(1)));
  EXPECT_TRUE(map.insert({2, std::make_unique<int>(2)}));
  EXPECT_FALSE(map.insert_or_assign(1, std::make_unique<int>(3)));
  int sum = 0;
  map.for_each([&](const auto& each) { sum += *each.second; });
  EXPECT_EQ(sum, 5);
}

TEST(rcu_hash_map, a_reader_keeps_the_element_that_is_replaced) {
  rcu_hash_map<int, counted> map;
  map.try_emplace(1, 1);
  {
    const rcu_reader section;
    const auto old = map.find(1);
    EXPECT_FALSE(map.insert_or_assign(1, counted(2)));
    readmost::rcu_hurry();
    EXPECT_EQ(old->second.value, 1);
    EXPECT_EQ(map.find(1)->second.value, 2);
    EXPECT_TRUE(map.update(1, [](counted& copy) { copy.value += 10; }));
    EXPECT_EQ(map.find(1)->second.value, 12);
    EXPECT_EQ(old->second.value, 1);
    EXPECT_EQ(counted::alive, 3);
  }
  EXPECT_EQ(map.size(), 1U);
  rcu_barrier();
  EXPECT_EQ(counted::alive, 1);
}

TEST(rcu_hash_map, a_reader_keeps_the_element_that_is_erased) {
  rcu_hash_map<int, counted> map;
  for (int i = 0; i < 100; ++i) map.try_emplace(i, i);
  {
    const rcu_reader section;
    const auto old = map.find(50);
    EXPECT_TRUE(map.erase(50));
    EXPECT_FALSE(map.erase(50));
    EXPECT_TRUE(map.find(50) == map.end());
    EXPECT_EQ(old->second.value, 50);
  }
  EXPECT_EQ(map.size(), 99U);
  rcu_barrier();
  EXPECT_EQ(counted::alive, 99);
}

TEST(rcu_hash_map, updates_nothing_that_is_not_there) {
  int_map map;
  EXPECT_FALSE(map.update(1, [](int&) { FAIL(); }));
  EXPECT_TRUE(map.empty());
}

TEST(rcu_hash_map, erases_what_a_function_chooses) {
  int_map map;
  for (int i = 0; i < 1'000; ++i) map.try_emplace(i, i);
  EXPECT_EQ(map.erase_if([](const auto& each) { return each.first % 10 != 0; }), 900U);
  EXPECT_EQ(map.size(), 100U);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(map.contains(i), i % 10 == 0) << i;
  EXPECT_EQ(map.erase_if([](const auto&) { return false; }), 0U);
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(sorted_keys(map), std::vector<int>());
}

TEST(rcu_hash_map, deletes_every_element_once) {
  {
    rcu_hash_map<int, counted> map;
    for (int i = 0; i < 500; ++i) map.try_emplace(i, i);
    for (int i = 0; i < 100; ++i) map.erase(i);
    for (int i = 100; i < 200; ++i) map.insert_or_assign(i, counted(0));
    map.erase_if([](const auto& each) { return each.first > 400; });
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 0);
}

TEST(rcu_hash_map, meets_every_element_once) {
  int_map map;
  for (int i = 0; i < 1'000; ++i) map.try_emplace(i, -i);
  EXPECT_EQ(sorted_keys(map), up_to(1'000));
  const rcu_reader section;
  std::vector<int> keys;
  for (auto each = map.begin(); each != map.end(); each++) {
    EXPECT_EQ(each->second, -each->first);
    keys.push_back((*each).first);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, up_to(1'000));
}

TEST(rcu_hash_map, elements_of_one_hash_are_kept_apart) {
  struct same {
    std::size_t operator()(int) const { return 7; }
  };
  rcu_hash_map<int, int, same> map;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(map.try_emplace(i, i));
  for (int i = 0; i < 100; i += 2) EXPECT_TRUE(map.erase(i));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(map.contains(i), i % 2 == 1) << i;
}

// --- Hash values ---------------------------------------------------------------------------------

// Families of keys as programs have them: their hash, which std::hash leaves as it is, must be
// spread over the lower bits, wherever the bits by which they differ are.
TEST(rcu_hash_map, spreads_integers_of_all_kinds_over_its_buckets) {
  constexpr std::size_t many = 1U << 14;
  using key_type = std::uint64_t;
  const rcu_hash_map<key_type, int> map(many);
  const auto fullest = [&](auto key_of) {
    std::vector<int> in_bucket(map.bucket_count());
    int most = 0;
    for (key_type i = 0; i < many; ++i) most = std::max(most, ++in_bucket[map.bucket(key_of(i))]);
    return most;
  };
  // Of random numbers, 7 are usual.
  constexpr int most = 16;
  for (unsigned shift = 0; shift <= 64 - 14; ++shift) {
    EXPECT_LE(fullest([=](key_type i) { return i << shift; }), most) << shift;
    EXPECT_LE(fullest([=](key_type i) { return ~(i << shift); }), most) << shift;
  }
  EXPECT_LE(fullest([](key_type i) { return __builtin_bswap64(i); }), most);
  EXPECT_LE(fullest([](key_type i) { return __builtin_bswap32(static_cast<unsigned>(i)); }), most);
  EXPECT_LE(fullest([](key_type i) { return i << 32 | i; }), most);
  for (const unsigned apart : {16U, 24U, 32U, 48U}) {  // pairs of two small numbers
    EXPECT_LE(fullest([=](key_type i) { return (i >> 7) << apart | (i & 127); }), most) << apart;
  }
  for (const key_type stride : {3ULL, 10ULL, 1'000ULL, 1'000'000'007ULL}) {
    EXPECT_LE(fullest([=](key_type i) { return i * stride; }), most) << stride;
  }
}

struct identity {
  using is_avalanching = void;
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key); }
};

TEST(rcu_hash_map, uses_hashes_that_are_spread_already_as_they_are) {
  const rcu_hash_map<int, int, identity> map(64);
  for (int key = 0; key < 200; ++key) {
    EXPECT_EQ(map.bucket(key), static_cast<std::size_t>(key % 64));
  }
}

// --- Bounded backlog -----------------------------------------------------------------------------

TEST(rcu_hash_map, does_not_retire_more_at_a_time_than_the_limit_allows) {
  separate_rcu_domain own;
  // Reclaims in this thread when it retires outside of sections, so the counts are exact.
  readmost::rcu_reclaim_by(readmost::reclaiming::in_place, own);
  constexpr std::uint64_t limit = 256;
  readmost::rcu_limit_backlog({limit, limit * 4096}, own);
  int_map map(0, own);
  constexpr int many = 10'000;
  for (int i = 0; i < many; ++i) map.try_emplace(i, i);
  std::uint64_t most = 0;
  const auto watch = [&](const auto& each) {
    most = std::max(most, readmost::rcu_statistics_of(own).waiting);
    return each.first >= 5'000;
  };
  EXPECT_EQ(map.erase_if(watch), 5'000U);
  EXPECT_LE(most, limit + 64);
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_LE(readmost::rcu_statistics_of(own).waiting, limit + 64);
}

TEST(rcu_hash_map, asks_about_each_element_once_while_it_is_resized) {
  for (const bool grows : {true, false}) {
    rcu_hash_map<int, int, identity> map(grows ? 64 : 1'024);
    map.automatic_resizing(false);
    constexpr int many = 4'096;
    for (int i = 0; i < many; ++i) map.try_emplace(i, i);
    map.max_load_factor(1'000);
    std::vector<int> asked(many);
    std::atomic<bool> stop{false};
    std::thread resizer([&] {
      while (!stop) {
        map.rehash(grows ? 1'024 : 16);
        map.rehash(grows ? 64 : 1'024);
      }
    });
    map.erase_if([&](const auto& each) {
      ++asked[static_cast<std::size_t>(each.first)];
      if (each.first % 64 == 0) std::this_thread::yield();
      return true;
    });
    stop = true;
    resizer.join();
    EXPECT_EQ(std::count(asked.begin(), asked.end(), 1), many);
    EXPECT_TRUE(map.empty());
  }
}

// --- More operations -----------------------------------------------------------------------------

using text_map = rcu_hash_map<int, std::string>;

TEST(rcu_hash_map, emplaces_elements_as_pairs_are_made) {
  text_map map;
  EXPECT_TRUE(map.emplace(1, "one"));
  EXPECT_TRUE(map.emplace(std::pair(2, "two")));
  EXPECT_TRUE(map.emplace(std::piecewise_construct, std::tuple(3), std::tuple(3, 'x')));
  EXPECT_FALSE(map.emplace(1, "other"));
  EXPECT_EQ(map.get(1), "one");
  EXPECT_EQ(map.get(3), "xxx");
  EXPECT_EQ(map.size(), 3U);
}

TEST(rcu_hash_map, takes_ranges) {
  const std::vector<std::pair<int, std::string>> some{{1, "one"}, {2, "two"}, {1, "other"}};
  text_map map(some.begin(), some.end());
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(map.get(1), "one");
  EXPECT_EQ(map.insert({{2, "other"}, {3, "three"}}), 1U);
  EXPECT_EQ(map.get(2), "two");
  const text_map listed{{1, "one"}, {2, "two"}};
  EXPECT_EQ(sorted_keys(listed), (std::vector<int>{1, 2}));
}

TEST(rcu_hash_map, at_returns_the_element_or_throws) {
  const text_map map{{1, "one"}};
  const rcu_reader section;
  EXPECT_EQ(map.at(1), "one");
  EXPECT_THROW(static_cast<void>(map.at(2)), std::out_of_range);
}

TEST(rcu_hash_map, an_update_may_decline) {
  rcu_hash_map<int, counted> map;
  map.try_emplace(1, 1);
  const auto if_even = [](counted& copy) {
    copy.value += 1;
    return copy.value % 2 == 1;
  };
  EXPECT_FALSE(map.update(1, if_even));
  EXPECT_EQ(map.get(1)->value, 1);
  EXPECT_TRUE(map.update(1, [](counted& copy) {
    copy.value = 2;
    return true;
  }));
  EXPECT_TRUE(map.update(1, if_even));
  EXPECT_EQ(map.get(1)->value, 3);
  rcu_barrier();
  EXPECT_EQ(counted::alive, 1);
}

TEST(rcu_hash_map, erases_an_element_if_a_function_agrees) {
  int_map map{{1, 10}};
  EXPECT_FALSE(map.erase_if(1, [](int value) { return value != 10; }));
  EXPECT_FALSE(map.erase_if(2, [](int) { return true; }));
  EXPECT_EQ(map.size(), 1U);
  EXPECT_TRUE(map.erase_if(1, [](int value) { return value == 10; }));
  EXPECT_TRUE(map.empty());
}

TEST(rcu_hash_map, inserts_or_updates_or_visits) {
  int_map map;
  using upserted = int_map::upserted;
  const auto below_two = [](int& value) { return ++value <= 2; };
  EXPECT_EQ(map.upsert(1, below_two, 1), upserted::inserted);
  EXPECT_EQ(map.upsert(1, below_two, 1), upserted::replaced);
  EXPECT_EQ(map.upsert(1, below_two, 1), upserted::nothing);
  EXPECT_EQ(map.get(1), 2);
  int seen = 0;
  const auto see = [&](const int& value) { seen = value; };
  EXPECT_TRUE(map.insert_or_visit({2, 20}, see));
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(map.insert_or_visit({2, 21}, see));
  EXPECT_EQ(seen, 20);
}

TEST(rcu_hash_map, a_guarded_element_outlives_the_callers_sections) {
  separate_rcu_domain own;
  rcu_hash_map<int, counted> map(0, own);
  map.try_emplace(1, 1);
  EXPECT_FALSE(map.find_guarded(2));
  EXPECT_FALSE(readmost::detail::is_in_section(readmost::detail::number_of(own.core())));
  {
    auto found = map.find_guarded(1);
    auto moved = std::move(found);
    EXPECT_FALSE(found);
    map.erase(1);
    readmost::rcu_hurry(own);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->second.value, 1);
    EXPECT_EQ((*moved).first, 1);
    found = std::move(moved);
    EXPECT_EQ(found->second.value, 1);
    found.reset();
    EXPECT_FALSE(found);
    rcu_barrier(own);
    EXPECT_EQ(counted::alive, 0);
  }
  EXPECT_FALSE(readmost::detail::is_in_section(readmost::detail::number_of(own.core())));
}

TEST(rcu_hash_map, is_moved_and_swapped_with_its_domain) {
  separate_rcu_domain own;
  int_map a{{1, 1}, {2, 2}};
  int_map b(0, own);
  b.try_emplace(3, 3);
  swap(a, b);
  EXPECT_EQ(sorted_keys(a), std::vector<int>{3});
  EXPECT_EQ(sorted_keys(b), (std::vector<int>{1, 2}));
  EXPECT_EQ(&a.domain(), &own);
  EXPECT_EQ(&b.domain(), &rcu_default_domain());
  int_map c(std::move(a));
  EXPECT_EQ(&c.domain(), &own);
  EXPECT_TRUE(a.empty());
  EXPECT_TRUE(a.try_emplace(4, 4));
  b = std::move(c);
  EXPECT_EQ(sorted_keys(b), std::vector<int>{3});
  EXPECT_EQ(&b.domain(), &own);
  for (int i = 0; i < 200; ++i) b.try_emplace(i, i);
  EXPECT_EQ(sorted_keys(b), up_to(200));
}

TEST(rcu_hash_map, counts_what_is_in_its_buckets) {
  struct same {
    std::size_t operator()(int) const { return 7; }
  };
  rcu_hash_map<int, int, same> map;
  for (int i = 0; i < 10; ++i) map.try_emplace(i, i);
  const readmost::rcu_hash_map_statistics figures = map.statistics();
  EXPECT_EQ(figures.elements, 10U);
  EXPECT_EQ(figures.buckets, fewest);
  EXPECT_EQ(figures.longest_chain, 10U);
  EXPECT_EQ(figures.resizes, 0U);
  EXPECT_FALSE(figures.resizing);
  EXPECT_EQ(map.bucket_size(map.bucket(0)), 10U);
  EXPECT_EQ(map.bucket_size((map.bucket(0) + 1) % fewest), 0U);
  map.rehash(4 * fewest);
  EXPECT_EQ(map.statistics().resizes, 2U);
  EXPECT_EQ(map.statistics().longest_chain, 10U);
  {
    const rcu_reader section;
    map.rehash(8 * fewest);
    EXPECT_TRUE(map.statistics().resizing);
  }
}

// --- Lookup by other types -----------------------------------------------------------------------

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

// A key that no std::string_view converts to: a lookup by one must not construct a key.
struct name {
  explicit name(const char* text) : value(text) {}
  std::string value;
  operator std::string_view() const { return value; }
};

struct same_text {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

TEST(rcu_hash_map, is_asked_by_anything_where_hash_and_equal_are_transparent) {
  rcu_hash_map<name, int, text_hash, same_text> map;
  map.try_emplace(name("one"), 1);
  using namespace std::string_view_literals;
  EXPECT_TRUE(map.contains("one"sv));
  EXPECT_EQ(map.count("two"sv), 0U);
  EXPECT_EQ(map.get("one"sv), 1);
  EXPECT_TRUE(map.visit("one"sv, [](int) {}));
  EXPECT_TRUE(map.update("one"sv, [](int& value) { ++value; }));
  EXPECT_LT(map.bucket("one"sv), map.bucket_count());
  {
    const rcu_reader section;
    EXPECT_EQ(map.find("one"sv)->second, 2);
  }
  EXPECT_TRUE(map.erase("one"sv));
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.try_emplace("two", 2));
  EXPECT_FALSE(map.try_emplace("two", 3));
  EXPECT_FALSE(map.insert_or_assign("two", 4));
  EXPECT_EQ(map.find_guarded("two"sv)->second, 4);
  EXPECT_FALSE(map.erase_if("two"sv, [](int value) { return value == 3; }));
  const auto add_one = [](int& value) { ++value; };
  using upserted = decltype(map)::upserted;
  EXPECT_EQ(map.upsert("two", add_one, 1), upserted::replaced);
  EXPECT_EQ(map.upsert("three", add_one, 1), upserted::inserted);
  EXPECT_EQ(map.get("two"sv), 5);
  EXPECT_EQ(map.get("three"sv), 1);
}

TEST(rcu_hash_map, takes_keys_along_that_are_given_up) {
  rcu_hash_map<std::string, int> map;
  const std::string name(100, 'x');
  std::string key = name;
  const auto leave = [](int&) { return false; };
  EXPECT_EQ(map.upsert(std::move(key), leave, 1), decltype(map)::upserted::inserted);
  EXPECT_TRUE(key.empty());
  key = name;
  EXPECT_EQ(map.upsert(std::move(key), leave, 2), decltype(map)::upserted::nothing);
  EXPECT_EQ(key, name);
  EXPECT_EQ(map.get(name), 1);
}

template <class Map>
concept is_asked_by_text = requires(const Map& map) { map.contains(std::string_view()); };
static_assert(is_asked_by_text<rcu_hash_map<std::string, int, text_hash, same_text>>);
static_assert(!is_asked_by_text<rcu_hash_map<std::string, int, text_hash>>);

// --- Failures ------------------------------------------------------------------------------------

class copies_that_fail {
 public:
  copies_that_fail() { counted::copies_fail = true; }
  ~copies_that_fail() { counted::copies_fail = false; }
  copies_that_fail(const copies_that_fail&) = delete;
  copies_that_fail& operator=(const copies_that_fail&) = delete;
};

struct hash_of_counted {
  std::size_t operator()(const counted& key) const { return static_cast<std::size_t>(key.value); }
};

TEST(rcu_hash_map, is_unchanged_when_a_constructor_throws) {
  {
    rcu_hash_map<counted, counted, hash_of_counted> map;
    map.try_emplace(counted(1), 1);
    const counted one(1), two(2);
    {
      const copies_that_fail failing;
      EXPECT_THROW(map.try_emplace(two, 2), std::runtime_error);
      EXPECT_THROW(map.try_emplace(counted(2), two), std::runtime_error);
      EXPECT_THROW(map.insert_or_assign(one, counted(2)), std::runtime_error);
      EXPECT_THROW(map.insert_or_assign(counted(1), two), std::runtime_error);
      EXPECT_THROW(map.update(one, [](counted&) {}), std::runtime_error);
    }
    EXPECT_EQ(map.size(), 1U);
    EXPECT_FALSE(map.contains(two));
    EXPECT_EQ(map.get(one)->value, 1);
    EXPECT_TRUE(map.try_emplace(two, 2));
    EXPECT_TRUE(map.erase(one));
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 0);
}

TEST(rcu_hash_map, is_unchanged_when_a_function_throws) {
  int_map map;
  map.try_emplace(1, 1);
  const auto spoil = [](int& copy) {
    copy = 2;
    throw std::runtime_error("update");
  };
  EXPECT_THROW(map.update(1, spoil), std::runtime_error);
  EXPECT_THROW(map.erase_if([](const auto&) -> bool { throw std::runtime_error("erase_if"); }),
               std::runtime_error);
  EXPECT_FALSE(readmost::detail::is_in_section(0));
  EXPECT_EQ(map.get(1), 1);
  EXPECT_TRUE(map.update(1, [](int& copy) { copy = 3; }));
}

TEST(rcu_hash_map, stays_as_large_as_it_is_when_there_is_no_memory_for_a_table) {
  SKIP_WHERE_MEMORY_CANNOT_RUN_OUT();
  int_map map;
  {
    const test::allocation_limit elements_only(fewest * sizeof(void*));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(map.try_emplace(i, i));
    map.rehash(1'000);
    EXPECT_EQ(map.bucket_count(), fewest);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(map.get(i), i);
  }
  map.try_emplace(100, 100);
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_GE(map.bucket_count(), 1'000U);
  {
    const test::allocation_limit elements_only(fewest * sizeof(void*));
    const std::size_t large = map.bucket_count();
    map.rehash(0);
    EXPECT_EQ(map.bucket_count(), large);
  }
  EXPECT_EQ(sorted_keys(map), up_to(101));
}

TEST(rcu_hash_map, refuses_sizes_that_cannot_be) {
  int_map map;
  EXPECT_THROW(map.rehash(SIZE_MAX), std::length_error);
  EXPECT_THROW(map.reserve(SIZE_MAX), std::length_error);
  EXPECT_THROW(int_map{SIZE_MAX}, std::length_error);
  EXPECT_EQ(map.bucket_count(), fewest);
  EXPECT_TRUE(map.try_emplace(1, 1));
}

// --- Size of the table ---------------------------------------------------------------------------

TEST(rcu_hash_map, grows_and_shrinks_with_its_elements) {
  int_map map;
  constexpr int many = 3'000;
  for (int i = 0; i < many; ++i) {
    map.try_emplace(i, i);
    ASSERT_TRUE(map.contains(i / 2));
  }
  EXPECT_EQ(map.size(), static_cast<std::size_t>(many));
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  // It checks its own stripe before it sums all of them, so it may grow a little late.
  EXPECT_LE(map.load_factor(), 1.25F);
  EXPECT_EQ(sorted_keys(map), up_to(many));
  for (int i = many; i-- > 10;) {
    EXPECT_TRUE(map.erase(i));
    ASSERT_TRUE(map.contains(i / 2));
  }
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_LE(map.bucket_count(), 256U);
  EXPECT_EQ(sorted_keys(map), up_to(10));
  map.clear();
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_EQ(map.bucket_count(), fewest);
}

TEST(rcu_hash_map, does_not_swing_between_two_sizes) {
  int_map map;
  int next = 0;
  while (map.bucket_count() == fewest) map.try_emplace(next++, 0);
  ASSERT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  const std::size_t large = map.bucket_count();
  for (int i = 0; i < 100; ++i) {
    for (int j = 1; j < 9; ++j) map.erase(next - j);
    EXPECT_EQ(map.bucket_count(), large);
    for (int j = 1; j < 9; ++j) map.try_emplace(next - j, 0);
    EXPECT_EQ(map.bucket_count(), large);
  }
}

TEST(rcu_hash_map, has_the_buckets_that_are_asked_for) {
  int_map map(100);
  EXPECT_EQ(map.bucket_count(), 128U);
  map.rehash(1'000);
  EXPECT_EQ(map.bucket_count(), 1'024U);
  map.reserve(3'000);
  EXPECT_EQ(map.bucket_count(), 4'096U);
  for (int i = 0; i < 3'000; ++i) map.try_emplace(i, i);
  EXPECT_EQ(map.bucket_count(), 4'096U);
  for (int i = 10; i < 3'000; ++i) map.erase(i);
  EXPECT_EQ(map.bucket_count(), 4'096U);  // as was asked for
  map.rehash(0);
  EXPECT_EQ(map.bucket_count(), fewest);
  EXPECT_EQ(sorted_keys(map), up_to(10));
}

TEST(rcu_hash_map, keeps_to_the_load_factor_it_is_given) {
  int_map map;
  EXPECT_EQ(map.max_load_factor(), 1.0F);
  map.max_load_factor(8);
  for (int i = 0; i < 100; ++i) map.try_emplace(i, i);
  EXPECT_EQ(map.bucket_count(), fewest);
  EXPECT_FLOAT_EQ(map.load_factor(), 100.0F / 16);
  map.max_load_factor(0.5F);
  map.rehash(0);
  EXPECT_EQ(map.bucket_count(), 256U);
  EXPECT_EQ(sorted_keys(map), up_to(100));
}

// A table of twice the size at once, all others once the section is over.
TEST(rcu_hash_map, is_resized_inside_a_section_as_far_as_nothing_has_to_wait) {
  int_map map;
  {
    const rcu_reader section;
    for (int i = 0; i < 200; ++i) map.try_emplace(i, i);
    map.rehash(64);
    EXPECT_EQ(map.bucket_count(), 2 * fewest);
    EXPECT_FALSE(map.poll_resizing());
    EXPECT_EQ(map.size(), 200U);
    EXPECT_EQ(sorted_keys(map), up_to(200));
  }
  map.try_emplace(200, 200);
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_EQ(map.bucket_count(), 256U);
  {
    const rcu_reader section;
    for (int i = 0; i < 201; ++i) map.erase(i);
    EXPECT_EQ(map.bucket_count(), 128U);
    EXPECT_FALSE(map.poll_resizing());
  }
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  map.try_emplace(1, 1);
  map.erase(1);
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_EQ(map.bucket_count(), 64U);
}

TEST(rcu_hash_map, no_writer_waits_for_a_reader_while_it_is_resized) {
  int_map map;
  helper_thread writer;
  {
    const rcu_reader section;  // of this thread, so that the writer's grace periods cannot end
    writer.begin([&] {
      for (int i = 0; i < 1'000; ++i) map.try_emplace(i, i);
      for (int i = 0; i < 1'000; i += 2) map.erase(i);
      map.update(1, [](int& value) { value = 10; });
      map.erase_if([](const auto& each) { return each.first > 900; });
      return static_cast<int>(map.size());
    });
    EXPECT_TRUE(wait_until([&] { return !writer.in_call(); }));
    EXPECT_FALSE(map.poll_resizing());
  }
  EXPECT_EQ(writer.end(), 450);
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_EQ(sorted_keys(map).size(), 450U);
  EXPECT_EQ(map.get(1), 10);
}

// In each state that a resize can be left in.
TEST(rcu_hash_map, can_be_destroyed_and_moved_while_it_is_resized) {
  for (const bool grows : {true, false}) {
    for (const int sections : {1, 2}) {
      auto map = std::make_unique<rcu_hash_map<int, counted>>(grows ? 16 : 64);
      map->automatic_resizing(false);
      for (int i = 0; i < 64; ++i) map->try_emplace(i, i);
      for (int i = 0; i < sections; ++i) {
        const rcu_reader section;
        // The second time: from between the chains that the first step has separated.
        if (i == 0) map->rehash(grows ? 64 : 16);
        map->poll_resizing();
      }
      rcu_hash_map<int, counted> other(std::move(*map));
      EXPECT_EQ(map->size(), 0U);
      map.reset();
      EXPECT_EQ(sorted_keys(other), up_to(64));
      other.erase(5);
      EXPECT_FALSE(other.contains(5));
      EXPECT_TRUE(other.contains(6));
    }
  }
  rcu_barrier();
  EXPECT_EQ(counted::alive, 0);
}

TEST(rcu_hash_map, a_section_of_another_domain_does_not_keep_it_from_being_resized) {
  separate_rcu_domain own;
  int_map map(0, own);
  EXPECT_EQ(&map.domain(), &own);
  const rcu_reader section;
  for (int i = 0; i < 200; ++i) map.try_emplace(i, i);
  EXPECT_TRUE(wait_until([&] { return map.poll_resizing(); }));
  EXPECT_GE(map.bucket_count(), 128U);
}

TEST(rcu_hash_map, is_resized_by_hand_alone_if_so_wanted) {
  int_map map;
  EXPECT_TRUE(map.automatic_resizing());
  map.automatic_resizing(false);
  for (int i = 0; i < 200; ++i) map.try_emplace(i, i);
  EXPECT_EQ(map.bucket_count(), fewest);
  map.rehash(0);
  EXPECT_EQ(map.bucket_count(), 256U);
  map.clear();
  EXPECT_EQ(map.bucket_count(), 256U);
}

TEST(rcu_hash_map, retires_in_its_domain) {
  separate_rcu_domain own;
  rcu_hash_map<int, counted> map(0, own);
  map.try_emplace(1, 1);
  const rcu_reader section;  // of another domain: keeps nothing
  map.erase(1);
  rcu_barrier(own);
  EXPECT_EQ(counted::alive, 0);
}

// --- Readers during a resize ---------------------------------------------------------------------

// Equal stops a thread that looks for a key when it comes by a certain other key.
struct stop_at {
  int key;
  std::atomic<bool> reached{false};
  std::atomic<bool> go_on{false};
};
thread_local stop_at* my_stop = nullptr;

struct equal_that_stops {
  bool operator()(int a, int b) const {
    if (my_stop != nullptr && a == my_stop->key) {
      my_stop->reached = true;
      while (!my_stop->go_on.load()) std::this_thread::yield();
    }
    return a == b;
  }
};

// Keys below `distinct` are hashed apart, above as the one that they leave as remainder.
struct hash_by_remainder {
  static constexpr int distinct = 1'000;
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key % distinct); }
};
int another_of_its_hash(int key) {
  return key + hash_by_remainder::distinct;
}

using stopping_map = rcu_hash_map<int, int, hash_by_remainder, equal_that_stops>;

class rcu_hash_map_in_resize : public testing::Test {
 protected:
  rcu_hash_map_in_resize() {
    const stopping_map small, large(2 * fewest);
    while (small.bucket(a) == 0) ++a;
    while (small.bucket(front) != 0) ++front;
    while (small.bucket(b) != small.bucket(a) || large.bucket(b) == large.bucket(a)) ++b;
    map.automatic_resizing(false);
  }

  // Starts doubling the map; stays waiting for the readers of the small table, of which the caller
  // is one.
  bool starts_to_grow() {
    resizer.begin([this] { map.rehash(2 * fewest); });
    return wait_until([this] { return map.bucket_count() == 2 * fewest; }) &&
           resizer.falls_asleep();
  }

  // Two keys of one bucket among 16 that belong to different ones among 32; and one of an earlier.
  int a = 0, b = 0, front = 0;
  stopping_map map;
  helper_thread resizer, reader;
};

TEST_F(rcu_hash_map_in_resize, readers_of_the_old_table_find_all) {
  for (const int key : {a, b, another_of_its_hash(a), another_of_its_hash(b)}) {
    map.try_emplace(key, key);
  }
  {
    const rcu_reader section;
    auto old = map.begin();
    ASSERT_TRUE(starts_to_grow());
    int met = 0;
    for (; old != map.end(); ++old) ++met;
    EXPECT_EQ(met, 4);
    EXPECT_EQ(sorted_keys(map).size(), 4U);
    EXPECT_TRUE(resizer.in_call());
  }
  EXPECT_EQ(resizer.end(), 0);
  EXPECT_EQ(sorted_keys(map).size(), 4U);
}

TEST_F(rcu_hash_map_in_resize, writers_go_on_meanwhile) {
  map.try_emplace(front, 0);
  for (int i = 0; i < 8; ++i) map.try_emplace(i % 2 == 0 ? a + 2'000 * i : b + 2'000 * i, i);
  const auto key = [&](int i) { return (i % 2 == 0 ? a : b) + 2'000 * i; };
  {
    const rcu_reader section;
    auto old = map.begin();  // stands before the bucket that is written to
    ASSERT_EQ(old->first, front);
    ASSERT_TRUE(starts_to_grow());
    helper_thread writer;
    EXPECT_EQ(writer.call([&] {
      for (int i = 8; i < 12; ++i) map.try_emplace(key(i), i);
      for (int i = 0; i < 12; i += 3) map.erase(key(i));
      map.insert_or_assign(key(4), 40);
      map.update(key(5), [](int& value) { value = 50; });
      map.try_emplace(key(0), 0);
      return static_cast<int>(map.size());
    }),
              10);
    // Reads the old table to its end: what stays is there once.
    int met_of_those_that_stay = 0;
    for (; old != map.end(); ++old) {
      const int stay[] = {key(1), key(2), key(4), key(5), key(7)};
      met_of_those_that_stay +=
          static_cast<int>(std::count(std::begin(stay), std::end(stay), old->first));
    }
    EXPECT_EQ(met_of_those_that_stay, 5);
    EXPECT_EQ(map.get(key(4)), 40);
    EXPECT_EQ(map.get(key(3)), std::nullopt);
  }
  EXPECT_EQ(resizer.end(), 0);
  for (const std::size_t buckets : {2 * fewest, fewest, 4 * fewest}) {
    map.rehash(buckets);
    for (int i = 0; i < 12; ++i) {
      const std::optional<int> expected = i != 0 && i % 3 == 0 ? std::nullopt
                                          : i == 4 || i == 5   ? std::optional(10 * i)
                                                               : std::optional(i);
      EXPECT_EQ(map.get(key(i)), expected) << i;
    }
  }
}

// A reader that has passed over to elements of another bucket, from where it gets on by a link that
// unzipping takes away: that has to wait for it. The reader enters after the new table was
// published, so nothing else waits for it.
TEST_F(rcu_hash_map_in_resize, unzipping_waits_for_readers_between_two_steps) {
  const int first = a, last = another_of_its_hash(a);
  for (const int key : {last, b, first}) map.try_emplace(key, 1);  // the chain: first, b, last
  stop_at stop{first};
  const auto grace_periods = [] { return readmost::rcu_statistics_of().grace_periods; };
  std::uint64_t before = 0;
  {
    const rcu_reader section;
    ASSERT_TRUE(starts_to_grow());
    before = grace_periods();
    EXPECT_EQ(reader.call([&] { return static_cast<int>(map.contains(b)); }), 1);
    reader.begin([&] {
      my_stop = &stop;
      return static_cast<int>(map.contains(last));
    });
    ASSERT_TRUE(wait_until([&] { return stop.reached.load(); }));
    // The replaced element keeps its link to b.
    EXPECT_FALSE(map.insert_or_assign(first, 2));
  }
  // The readers of the old table are gone, and the first step is taken.
  EXPECT_TRUE(wait_until([&] { return grace_periods() != before; }));
  EXPECT_TRUE(resizer.falls_asleep());
  // Half unzipped: the chain of b ends in that of a.
  EXPECT_EQ(sorted_keys(map).size(), 3U);
  int asked = 0;
  map.erase_if([&](const auto&) { return ++asked > 3; });
  EXPECT_EQ(asked, 3);
  stop.go_on = true;
  EXPECT_EQ(reader.end(), 1);
  EXPECT_EQ(resizer.end(), 0);
  EXPECT_TRUE(map.contains(last));
}

// --- Writers in parallel -------------------------------------------------------------------------

TEST(rcu_hash_map, keeps_what_many_writers_insert) {
  rcu_hash_map<int, counted> map;
  constexpr int threads = 4, each = 5'000;
  std::vector<std::thread> writers;
  std::atomic<int> inserted_twice{0};
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        map.try_emplace(t * each + i, i);
        if (map.try_emplace(-1 - i, t)) ++inserted_twice;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(inserted_twice, each);  // of each such key one writer's
  EXPECT_EQ(map.size(), static_cast<std::size_t>((threads + 1) * each));
  for (int i = -each; i < threads * each; ++i) ASSERT_TRUE(map.contains(i)) << i;
}

TEST(rcu_hash_map, loses_no_update) {
  int_map map;
  map.try_emplace(1, 0);
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) map.update(1, [](int& value) { ++value; });
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(map.get(1), 8'000);
}

}  // namespace
