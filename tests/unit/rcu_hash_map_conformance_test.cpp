// SPDX-License-Identifier: Apache-2.0
// What the members of rcu_hash_map do, line by line: beside std::unordered_map, to which the same
// is done, and as the header of folly::ConcurrentHashMap promises it, which is not here to be
// asked. Each line begins with the map {one: 1, two: 2} and names the member; what it shows is the
// result (of an iterator the element, of a pair whether something was inserted) and the map
// afterwards. Which members there are at all: rcu_hash_map_interface_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <readmost/rcu_hash_map.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using ours = readmost::rcu_hash_map<std::string, int, text_hash, std::equal_to<>>;
using standard = std::unordered_map<std::string, int, text_hash, std::equal_to<>>;
using value = std::pair<const std::string, int>;

std::string seen(std::size_t number) {
  return std::to_string(number);
}
std::string seen(const value& element) {
  return element.first + "=" + std::to_string(element.second);
}
std::string seen(readmost::detail::upserted what) {
  using readmost::detail::upserted;
  return what == upserted::inserted ? "inserted" : what == upserted::replaced ? "replaced" : "left";
}
template <class Iterator>
std::string seen(const std::pair<Iterator, bool>& inserted) {
  return seen(std::size_t{inserted.second});
}
template <class Map>
std::string element(const Map& map, const typename Map::const_iterator& at) {
  return at == map.end() ? "end" : seen(*at);
}

template <class Map>
std::string all_of(const Map& map) {
  const readmost::rcu_reader section;
  std::map<std::string, int> sorted;
  for (const value& each : map) sorted.insert(each);
  std::string text;
  for (const value& each : sorted) text += " " + seen(each);
  return text;
}

template <class Map, class Step>
std::string shown_by(const Step& step) {
  Map map{{"one", 1}, {"two", 2}};
  std::string result;
  try {
    result = step(map);
  } catch (const std::out_of_range&) {
    result = "out of range";
  } catch (const std::length_error&) {
    result = "length";
  }
  return result + ":" + all_of(map);
}

// `m` is the map, `map_type` its class.
#define STEP(...)                                                   \
  [](auto& m) {                                                     \
    using map_type [[maybe_unused]] = std::decay_t<decltype(m)>;    \
    return seen([&]() -> decltype(auto) { return __VA_ARGS__; }()); \
  }
#define READING_STEP(...)               \
  [](const auto& m) -> std::string {    \
    const readmost::rcu_reader section; \
    return __VA_ARGS__;                 \
  }

// --- std::unordered_map --------------------------------------------------------------------------

struct line {
  template <class Step>
  line(const char* member_, const Step& step)
      : member(member_), of_standard(shown_by<standard>(step)), of_ours(shown_by<ours>(step)) {}

  const char* member;
  std::string of_standard;
  std::string of_ours;
};

const std::vector<value> three{{"two", 20}, {"three", 3}, {"three", 30}};

// A new map in place of the old one, by the constructor.
template <class Map, class... Args>
std::size_t made(Map& m, Args&&... arguments) {
  m = Map(std::forward<Args>(arguments)...);
  return m.size();
}

TEST(rcu_hash_map_conformance, does_what_unordered_map_does) {
  const line lines[] = {
      // [unord.map.cnstr]
      {"map()", STEP(made(m))},
      {"map(n)", STEP(made(m, 100U))},
      {"map(first, last)", STEP(made(m, three.begin(), three.end()))},
      {"map(first, last, n)", STEP(made(m, three.begin(), three.end(), 100U))},
      {"map({...})", STEP(made(m, std::initializer_list<value>{{"two", 2}, {"three", 3}}))},
      {"map(allocator)", STEP(made(m, typename map_type::allocator_type()))},
      {"map(map&&)", STEP(made(m, map_type{{"five", 5}}))},
      {"operator=(map&&)", STEP((m = map_type{{"five", 5}}).size())},
      {"map(map&&): the source", STEP([&] {
         const map_type taken(std::move(m));
         return taken.size() + 10 * m.size();
       }())},
      // [unord.map.overview]: capacity, iterators
      {"empty", STEP(m.empty())},
      {"empty of none", STEP((m.clear(), m.empty()))},
      {"size", STEP(m.size())},
      {"max_size", STEP(m.max_size() > 1'000'000'000)},
      {"begin, end", READING_STEP(std::to_string(std::distance(m.begin(), m.end())))},
      {"cbegin, cend", READING_STEP(std::to_string(std::distance(m.cbegin(), m.cend())))},
      // Lookup
      {"find(key)", READING_STEP(element(m, m.find(std::string("one"))))},
      {"find(key) of none", READING_STEP(element(m, m.find(std::string("three"))))},
      {"find(k)", READING_STEP(element(m, m.find(std::string_view("two"))))},
      {"contains(key)", STEP(m.contains(std::string("one")))},
      {"contains(k) of none", STEP(m.contains(std::string_view("three")))},
      {"count(key)", STEP(m.count(std::string("one")))},
      {"count(k) of none", STEP(m.count(std::string_view("three")))},
      {"at(key)", READING_STEP(std::to_string(m.at(std::string("two"))))},
      {"at(key) of none", READING_STEP(std::to_string(m.at(std::string("three"))))},
      // [unord.map.modifiers]
      {"insert(const value&)", STEP(m.insert(three[1]))},
      {"insert(const value&) again", STEP(m.insert(three[0]))},
      {"insert(value&&)", STEP(m.insert(value("three", 3)))},
      {"insert(value&&) again", STEP(m.insert(value("two", 20)))},
      {"insert(convertible)", STEP(m.insert(std::pair<const char*, short>("three", 3)))},
      {"insert(first, last)", STEP((m.insert(three.begin(), three.end()), 0U))},
      {"insert({...})", STEP((m.insert({{"one", 10}, {"four", 4}}), 0U))},
      {"emplace(arguments...)", STEP(m.emplace("three", 3))},
      {"emplace(arguments...) again", STEP(m.emplace("two", 20))},
      {"emplace(piecewise)", STEP(m.emplace(std::piecewise_construct, std::forward_as_tuple(3, 'x'),
                                            std::forward_as_tuple(3)))},
      {"try_emplace(const key&, arguments...)", STEP(m.try_emplace(three[1].first, 3))},
      {"try_emplace(key&&, arguments...)", STEP(m.try_emplace(std::string("three")))},
      {"try_emplace again", STEP(m.try_emplace("two", 20))},
      {"try_emplace again leaves its arguments alone", STEP([&] {
         std::string key("two");
         m.try_emplace(std::move(key), 20);
         return key.size();
       }())},
      {"insert_or_assign(const key&, value)", STEP(m.insert_or_assign(three[1].first, 3))},
      {"insert_or_assign(key&&, value)", STEP(m.insert_or_assign(std::string("three"), 3))},
      {"insert_or_assign again", STEP(m.insert_or_assign("two", 20))},
      {"erase(key)", STEP(std::size_t{m.erase(std::string("one"))})},
      {"erase(key) of none", STEP(std::size_t{m.erase(std::string("three"))})},
      {"clear", STEP((m.clear(), m.size()))},
      {"swap(map&)", STEP([&] {
         map_type other{{"five", 5}};
         m.swap(other);
         return other.size();
       }())},
      {"swap(map&, map&)", STEP([&] {
         map_type other{{"five", 5}};
         swap(other, m);
         return other.size();
       }())},
      // Observers
      {"get_allocator", STEP(m.get_allocator() == typename map_type::allocator_type())},
      {"hash_function", STEP(m.hash_function()("one") == text_hash()("one"))},
      {"key_eq", STEP(m.key_eq()("one", std::string("one")))},
      // Buckets and hash policy
      {"max_bucket_count", STEP(m.bucket_count() < m.max_bucket_count())},
      {"bucket(key)", STEP(m.bucket("one") < m.bucket_count())},
      {"bucket_size(n)", STEP(m.bucket_size(m.bucket("one")) >= 1)},
      {"load_factor", STEP(m.load_factor() * static_cast<float>(m.bucket_count()) ==
                           static_cast<float>(m.size()))},
      {"max_load_factor", STEP(m.max_load_factor() == 1.0F)},
      {"max_load_factor(z)", STEP((m.max_load_factor(4.0F), m.max_load_factor() == 4.0F))},
      {"rehash(n)", STEP((m.rehash(1000), m.bucket_count() >= 1000))},
      {"rehash(n) back", STEP((m.rehash(1000), m.rehash(0), m.bucket_count() < 1000))},
      {"reserve(n)", STEP((m.reserve(1000), m.bucket_count() >= 1000))},
  };
  for (const line& each : lines) EXPECT_EQ(each.of_ours, each.of_standard) << each.member;
}

// [unord.map.syn]: the types of a map that is made of elements.
TEST(rcu_hash_map_conformance, deduces_the_types_of_its_elements_as_unordered_map_does) {
  const std::vector<std::pair<std::string, int>> elements{{"one", 1}};
  const readmost::rcu_hash_map of_range(elements.begin(), elements.end());
  const readmost::rcu_hash_map of_list({std::pair(1, 'a'), std::pair(2, 'b')});
  static_assert(std::is_same_v<decltype(of_range)::value_type, std::pair<const std::string, int>>);
  static_assert(std::is_same_v<decltype(of_list)::value_type, std::pair<const int, char>>);
  EXPECT_EQ(of_range.get("one"), 1);
  EXPECT_EQ(of_list.get(2), 'b');
}

// --- folly::ConcurrentHashMap --------------------------------------------------------------------

struct promise {
  const char* member;                      // of folly
  std::function<std::string(ours&)> step;  // here
  const char* shown;
};

bool is_below_two(int present) {
  return present < 2;
}

TEST(rcu_hash_map_conformance, does_what_follys_header_promises) {
  const promise lines[] = {
      {"find(k) is valid beyond the caller's sections", STEP(*m.find_guarded("one")),
       "one=1: one=1 two=2"},
      {"find(k) of none", STEP(bool(m.find_guarded("six"))), "0: one=1 two=2"},
      {"a found element outlives its erasure", STEP([&] {
         auto found = m.find_guarded("one");
         m.erase("one");
         return *found;
       }()),
       "one=1: two=2"},
      {"insert(pair)", STEP(m.insert({"six", 6})), "1: one=1 six=6 two=2"},
      {"insert(pair) again", STEP(m.insert({"one", 6})), "0: one=1 two=2"},
      {"insert(k, v)", STEP(m.try_emplace("six", 6)), "1: one=1 six=6 two=2"},
      {"insert(pair) of another key type", STEP(m.try_emplace(std::string_view("six"), 6)),
       "1: one=1 six=6 two=2"},
      {"try_emplace(k, args...)", STEP(m.try_emplace("six")), "1: one=1 six=0 two=2"},
      {"emplace(args...)", STEP(m.emplace("six", 6)), "1: one=1 six=6 two=2"},
      // folly's is true also where it assigns.
      {"insert_or_assign(k, v)", STEP(m.insert_or_assign("six", 6)), "1: one=1 six=6 two=2"},
      {"insert_or_assign(k, v) again", STEP(m.insert_or_assign("one", 6)), "0: one=6 two=2"},
      {"insert_or_assign_if(k, v, f) of none", STEP(m.insert_or_assign_if("six", 6, is_below_two)),
       "inserted: one=1 six=6 two=2"},
      {"insert_or_assign_if(k, v, f), true", STEP(m.insert_or_assign_if("one", 6, is_below_two)),
       "replaced: one=6 two=2"},
      {"insert_or_assign_if(k, v, f), false",
       STEP(m.insert_or_assign_if(std::string_view("two"), 6, is_below_two)), "left: one=1 two=2"},
      {"assign(k, v)", STEP(m.assign("one", 6)), "1: one=6 two=2"},
      {"assign(k, v) of none", STEP(m.assign("six", 6)), "0: one=1 two=2"},
      {"assign(k, v) of none leaves its arguments alone", STEP([&] {
         std::string key("six");
         m.assign(std::move(key), 6);
         return key.size();
       }()),
       "3: one=1 two=2"},
      {"assign_if(k, v, f), true", STEP(m.assign_if("one", 6, is_below_two)), "1: one=6 two=2"},
      {"assign_if(k, v, f), false", STEP(m.assign_if("two", 6, is_below_two)), "0: one=1 two=2"},
      {"assign_if(k, v, f) of none", STEP(m.assign_if("six", 6, is_below_two)), "0: one=1 two=2"},
      {"assign_if_equal(k, expected, v), equal", STEP(m.assign_if_equal("one", 1, 6)),
       "1: one=6 two=2"},
      {"assign_if_equal(k, expected, v), other", STEP(m.assign_if_equal("one", 2, 6)),
       "0: one=1 two=2"},
      {"assign_if_equal(k, expected, v) of none",
       STEP(m.assign_if_equal(std::string_view("six"), 1, 6)), "0: one=1 two=2"},
      // By value.
      {"at(k)", STEP(std::size_t(*m.get("two"))), "2: one=1 two=2"},
      {"at(k) of none throws", READING_STEP(std::to_string(m.at("six"))),
       "out of range: one=1 two=2"},
      {"operator[](k): inserts a default, returns a copy",
       STEP(m.try_emplace("six") ? 0U : std::size_t(*m.get("six"))), "0: one=1 six=0 two=2"},
      {"erase(k)", STEP(m.erase("one")), "1: two=2"},
      {"erase(k) of none", STEP(m.erase("six")), "0: one=1 two=2"},
      {"erase(iterator): by its key", STEP(m.erase(m.find_guarded("one")->first)), "1: two=2"},
      {"erase_if_equal(k, expected), equal", STEP(m.erase_if_equal("one", 1)), "1: two=2"},
      {"erase_if_equal(k, expected), other", STEP(m.erase_if_equal(std::string_view("one"), 2)),
       "0: one=1 two=2"},
      {"erase_key_if(k, f), true", STEP(m.erase_if("one", is_below_two)), "1: two=2"},
      {"erase_key_if(k, f), false", STEP(m.erase_if("two", is_below_two)), "0: one=1 two=2"},
      {"clear", STEP((m.clear(), m.size())), "0:"},
      {"reserve(n)", STEP((m.reserve(1000), m.bucket_count() >= 1000)), "1: one=1 two=2"},
      {"size", STEP(m.size()), "2: one=1 two=2"},
      {"max_load_factor(f)", STEP((m.max_load_factor(2.0F), m.max_load_factor() == 2.0F)),
       "1: one=1 two=2"},
      {"operator=(map&&)", STEP((m = ours{{"five", 5}}).size()), "1: five=5"},
      // An iterator goes on whatever is inserted and erased meanwhile.
      {"iteration beside inserts and erasures", STEP([&] {
         const readmost::rcu_reader section;
         std::size_t met = 0;
         for (const value& each : m) {
           met += each.second < 10 ? 1 : 0;
           for (int i = 10; i < 200; ++i) m.try_emplace(std::to_string(i), i);
           for (int i = 10; i < 200; ++i) m.erase(std::to_string(i));
         }
         return met;
       }()),
       "2: one=1 two=2"},
  };
  for (const promise& each : lines) EXPECT_EQ(shown_by<ours>(each.step), each.shown) << each.member;
}

// --- What the lists above cannot say -------------------------------------------------------------

TEST(rcu_hash_map_conformance, inserts_a_range_and_says_how_many) {
  ours map{{"one", 1}};
  EXPECT_EQ(map.insert_range(three), 2U);
  EXPECT_EQ(all_of(map), " one=1 three=3 two=20");
}

TEST(rcu_hash_map_conformance, assigns_what_cannot_be_copied) {
  readmost::rcu_hash_map<std::string, std::unique_ptr<int>> map;
  EXPECT_FALSE(map.assign("one", std::make_unique<int>(1)));
  map.try_emplace("one");
  EXPECT_TRUE(map.assign("one", std::make_unique<int>(2)));
  EXPECT_TRUE(
      map.assign_if("one", std::make_unique<int>(3), [](const auto& old) { return *old == 2; }));
  const auto found = map.find_guarded("one");
  EXPECT_EQ(*found->second, 3);
}

// Unlike std::unordered_map: an element is not changed, another one takes its place, key and all.
TEST(rcu_hash_map_conformance, takes_the_key_with_the_value_that_is_assigned) {
  struct by_length {
    std::size_t operator()(const std::string& text) const { return text.size(); }
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() == b.size();
    }
  };
  readmost::rcu_hash_map<std::string, int, by_length, by_length> map;
  map.insert({"one", 1});
  EXPECT_FALSE(map.try_emplace("two", 2));
  EXPECT_EQ(map.find_guarded("xxx")->first, "one");
  map.insert_or_assign("two", 2);
  EXPECT_EQ(map.find_guarded("xxx")->first, "two");
  map.assign("six", 6);
  EXPECT_EQ(map.find_guarded("xxx")->first, "six");
  map.update("xxx", [](int& copy) { ++copy; });
  EXPECT_EQ(map.find_guarded("xxx")->first, "six");
}

}  // namespace
