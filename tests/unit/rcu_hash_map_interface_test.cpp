// The names of std::unordered_map's and folly::ConcurrentHashMap's interfaces that the hash map has
// and those that it has not: docs/rcu.md says why. Checked when this file is compiled.
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
// Ours, as folly::ConcurrentHashMap or boost::concurrent_flat_map has it.
#define OURS_ALONE(NAME, EXPRESSION) \
  MAP_CONCEPT(NAME, EXPRESSION);     \
  static_assert(!NAME<standard> && NAME<ours>)

BOTH(has_begin, c.begin() == c.end());
BOTH(has_size, c.size() + c.bucket_count());
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
BOTH(has_hash_function, c.hash_function()(key));
BOTH(has_key_eq, c.key_eq()(key, key));
BOTH(has_load_factor, c.load_factor() + c.max_load_factor());
BOTH(has_max_load_factor, m.max_load_factor(2.0F));
BOTH(has_rehash, (m.rehash(100), m.reserve(100)));
BOTH(has_bucket, c.bucket(key));
BOTH(has_bucket_size, c.bucket_size(0));
BOTH(has_allocator, c.get_allocator());
BOTH(has_types, (std::declval<typename Map::key_type>(), std::declval<typename Map::iterator>()));

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
// A copy or a comparison of a map that changes would be of no moment in time.
STANDARD_ALONE(has_copy, Map(c));
STANDARD_ALONE(has_equality, c == c);
// Keys are unique.
STANDARD_ALONE(has_equal_range, c.equal_range(key));
// While the map is resized, chains of two buckets may share their ends.
STANDARD_ALONE(has_local_iterators, c.begin(0));

OURS_ALONE(has_try_emplace_view, m.try_emplace(view, 1));
OURS_ALONE(has_insert_or_assign_view, m.insert_or_assign(view, 1));
OURS_ALONE(has_erase_view, m.erase(view));
OURS_ALONE(has_erase_if_of_key, m.erase_if(key, [](int) { return true; }));
OURS_ALONE(has_erase_if, m.erase_if(chosen));
OURS_ALONE(has_update, m.update(key, [](int&) {}));
OURS_ALONE(has_upsert, m.upsert(key, [](int&) {}, 1));
OURS_ALONE(has_insert_or_visit, m.insert_or_visit(value, [](const int&) {}));
OURS_ALONE(has_visit, c.visit(key, [](const int&) {}));
OURS_ALONE(has_for_each, c.for_each([](const auto&) {}));
OURS_ALONE(has_get, c.get(key));
OURS_ALONE(has_find_guarded, c.find_guarded(key)->second);
OURS_ALONE(has_statistics, c.statistics().elements);
OURS_ALONE(has_poll_resizing, m.poll_resizing());
OURS_ALONE(has_domain, c.domain());

}  // namespace
