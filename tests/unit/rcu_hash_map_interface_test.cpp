// SPDX-License-Identifier: Apache-2.0
// The members of std::unordered_map and of folly::ConcurrentHashMap that the hash map has, and
// those that it has not: docs/rcu.md says why. Checked when this file is compiled. What those that
// it has do: rcu_hash_map_conformance_test.cpp.
#include <memory>
#include <readmost/rcu_hash_map.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using ours = readmost::rcu_hash_map<std::string, int, text_hash, std::equal_to<>>;
using standard = std::unordered_map<std::string, int, text_hash, std::equal_to<>>;

// Declares a concept of maps that have `EXPRESSION` on a map `m`, with arguments of these types.
#define MAP_CONCEPT(NAME, EXPRESSION)                                                             \
  template <class Map>                                                                            \
  concept NAME =                                                                                  \
      requires(Map& m, const Map& c, Map& other, const std::string& key, std::string_view view,   \
               std::pair<const std::string, int> value, std::pair<const std::string, int>* range, \
               bool (*chosen)(const std::pair<const std::string, int>&)) { EXPRESSION; }
// The standard's, which ours has too.
#define BOTH(NAME, EXPRESSION)   \
  MAP_CONCEPT(NAME, EXPRESSION); \
  static_assert(NAME<standard> && NAME<ours>)
// The standard's, which ours has not.
#define STANDARD_ALONE(NAME, EXPRESSION) \
  MAP_CONCEPT(NAME, EXPRESSION);         \
  static_assert(NAME<standard> && !NAME<ours>)
// Ours, which the standard has not; what is folly's has the same name there if not said otherwise.
#define OURS_ALONE(NAME, EXPRESSION) \
  MAP_CONCEPT(NAME, EXPRESSION);     \
  static_assert(!NAME<standard> && NAME<ours>)

BOTH(has_begin, c.begin() == c.end());
BOTH(has_cbegin, c.cbegin() == c.cend());
BOTH(has_size, c.size() + c.bucket_count());
BOTH(has_max_size, c.max_size() + c.max_bucket_count());
BOTH(has_empty, c.empty());
BOTH(has_find, c.find(key) == c.end());
BOTH(has_find_view, c.find(view) == c.end());
BOTH(has_contains, c.contains(key) && c.contains(view));
BOTH(has_count, c.count(key) + c.count(view));
BOTH(has_at, c.at(key));
BOTH(has_insert, m.insert(value));
BOTH(has_insert_moved, m.insert(std::move(value)));
BOTH(has_insert_range, m.insert(range, range));
BOTH(has_insert_list, (m.insert({{"one", 1}, {"two", 2}})));
BOTH(has_emplace, m.emplace("one", 1));
BOTH(has_try_emplace, m.try_emplace(key, 1));
BOTH(has_insert_or_assign, m.insert_or_assign(key, 1));
BOTH(has_erase, m.erase(key));
BOTH(has_clear, m.clear());
BOTH(has_swap, (m.swap(other), swap(m, other)));
BOTH(has_move, m = Map(std::move(other)));
BOTH(has_list_assignment, (m = {{"one", 1}, {"two", 2}}));
BOTH(has_hash_function, c.hash_function()(key));
BOTH(has_key_eq, c.key_eq()(key, key));
BOTH(has_load_factor, c.load_factor() + c.max_load_factor());
BOTH(has_max_load_factor, m.max_load_factor(2.0F));
BOTH(has_rehash, (m.rehash(100), m.reserve(100)));
BOTH(has_bucket, c.bucket(key));
BOTH(has_bucket_size, c.bucket_size(0));
BOTH(has_allocator, c.get_allocator());
// The types, one by one.
template <class Map>
concept has_types = requires {
  typename Map::key_type;
  typename Map::mapped_type;
  typename Map::value_type;
  typename Map::hasher;
  typename Map::key_equal;
  typename Map::allocator_type;
  typename Map::pointer;
  typename Map::const_pointer;
  typename Map::reference;
  typename Map::const_reference;
  typename Map::size_type;
  typename Map::difference_type;
  typename Map::iterator;
  typename Map::const_iterator;
};
static_assert(has_types<standard> && has_types<ours>);

// Elements do not change while they are in the map.
STANDARD_ALONE(has_index, m[key]);
STANDARD_ALONE(has_changing_iterator, m.begin()->second = 1);
STANDARD_ALONE(has_changing_at, m.at(key) = 1);
// An element that is taken out still has readers: it cannot be given to another map at once.
STANDARD_ALONE(has_extract, m.extract(key));
STANDARD_ALONE(has_merge, m.merge(other));
// Another writer may have erased what an iterator stands on: erase(key), erase_if(key, f).
STANDARD_ALONE(has_erase_iterator, m.erase(m.begin()));
STANDARD_ALONE(has_hints, m.emplace_hint(m.end(), "one", 1));
STANDARD_ALONE(has_insert_hint, m.insert(m.end(), value));
STANDARD_ALONE(has_try_emplace_hint, m.try_emplace(m.end(), key, 1));
STANDARD_ALONE(has_insert_or_assign_hint, m.insert_or_assign(m.end(), key, 1));
// A copy or a comparison of a map that changes would be of no moment in time.
STANDARD_ALONE(has_copy, Map(c));
STANDARD_ALONE(has_equality, c == c);
// Keys are unique.
STANDARD_ALONE(has_equal_range, c.equal_range(key));
// While the map is resized, chains of two buckets may share their ends.
STANDARD_ALONE(has_local_iterators, c.begin(0));

// folly's.
OURS_ALONE(has_assign, m.assign(key, 1) && m.assign(view, 1));
OURS_ALONE(has_assign_if, m.assign_if(key, 1, [](int) { return true; }));
OURS_ALONE(has_assign_if_equal, m.assign_if_equal(key, 1, 2));
OURS_ALONE(has_insert_or_assign_if, m.insert_or_assign_if(key, 1, [](int) { return true; }));
OURS_ALONE(has_erase_if_equal, m.erase_if_equal(key, 1) && m.erase_if_equal(view, 1));
OURS_ALONE(has_try_emplace_view, m.try_emplace(view, 1));
OURS_ALONE(has_insert_or_assign_view, m.insert_or_assign(view, 1));
OURS_ALONE(has_erase_view, m.erase(view));
// folly: erase_key_if.
OURS_ALONE(has_erase_if_of_key, m.erase_if(key, [](int) { return true; }));
// boost::concurrent_flat_map's, and our own.
OURS_ALONE(has_erase_if, m.erase_if(chosen));
OURS_ALONE(has_insert_of_range, m.insert_range(c));
OURS_ALONE(has_update, m.update(key, [](int&) {}));
OURS_ALONE(has_upsert, m.upsert(key, [](int&) {}, 1));
OURS_ALONE(has_insert_or_visit, m.insert_or_visit(value, [](const int&) {}));
OURS_ALONE(has_visit, c.visit(key, [](const int&) {}));
OURS_ALONE(has_for_each, c.for_each([](const auto&) {}));
OURS_ALONE(has_get, c.get(key));
// folly: find, whose iterator is a guard.
OURS_ALONE(has_find_guarded, c.find_guarded(key)->second);
OURS_ALONE(has_statistics, c.statistics().elements);
OURS_ALONE(has_poll_resizing, m.poll_resizing());
OURS_ALONE(has_domain, c.domain());

// folly's, which ours has not: docs/rcu.md.
#define ABSENT(NAME, EXPRESSION) \
  MAP_CONCEPT(NAME, EXPRESSION); \
  static_assert(!NAME<ours>)
ABSENT(has_insert_of_two, m.insert(key, 1));
ABSENT(has_erase_key_if, m.erase_key_if(key, [](int) { return true; }));
ABSENT(has_most_elements, Map(8, 1024));

}  // namespace
