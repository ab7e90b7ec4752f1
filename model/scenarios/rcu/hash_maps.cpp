// SPDX-License-Identifier: Apache-2.0
// Hash maps of RCU: lookups and traversals against writers, both against a resize, all against
// reclamation.
#include <initializer_list>
#include <readmost/rcu_hash_map.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

// A key is its hash.
struct as_it_is {
  using is_avalanching = void;
  std::size_t operator()(std::uint32_t key) const { return key; }
};

using map = rcu_hash_map<std::uint32_t, content, as_it_is>;

// In a map of 16 buckets these share one; in a map of 32, A is in the lower of two and B in the
// upper.
constexpr std::uint32_t a1 = 5;
constexpr std::uint32_t a2 = 5 + 32;
constexpr std::uint32_t b1 = 5 + 16;
constexpr std::uint32_t b2 = b1 + 32;

constexpr std::size_t small = 16;
constexpr std::size_t large = 32;

// The last one is at the front of its chain.
map& make_map(scenario& s, std::size_t buckets, std::initializer_list<std::uint32_t> keys) {
  begin_containers(s);
  auto& made = s.make<map>("map", buckets);
  made.automatic_resizing(false);
  for (const std::uint32_t key : keys) made.try_emplace(key, key);
  return made;
}

void expect_found(const map& in, std::uint32_t key) {
  const bool found = in.visit(key, [&](const content& data) { data.read(); });
  expect(found, "an element that is in the map throughout is not found");
}
void look_up(const map& in, std::uint32_t key) {
  in.visit(key, [](const content& data) { data.read(); });
}

void add_finder(scenario& s, const map& in, std::uint32_t key) {
  s.thread("reader", be_online, [&in, key] { expect_found(in, key); });
}

// Traverses the map; expects to find those of `always` exactly once, the others at most once.
void add_walker(scenario& s, const map& over, std::uint64_t always) {
  s.thread("reader", be_online, [&over, always] {
    std::uint64_t met = 0;
    over.for_each([&](const map::value_type& each) {
      each.second.read();
      const std::uint64_t bit = std::uint64_t{1} << each.first;
      expect((met & bit) == 0, "an element is found twice");
      met |= bit;
    });
    expect((met & always) == always, "an element that is in the map throughout is not found");
  });
}
constexpr std::uint64_t set_of(std::initializer_list<std::uint32_t> keys) {
  std::uint64_t made = 0;
  for (const std::uint32_t key : keys) made |= std::uint64_t{1} << key;
  return made;
}

void add_resizer(scenario& s, map& of, std::size_t buckets) {
  s.thread("resizer", be_known, [&of, buckets] { of.rehash(buckets); });
}

template <class Change>
void add_writer(scenario& s, Change change, const char* name = "writer") {
  s.thread(name, be_known, change);
}

}  // namespace

// --- Maps that keep their size

SCENARIO(map_insert_while_looked_up, "a lookup finds a new element complete", effort::small) {
  auto& in = make_map(s, small, {a1});
  s.thread("reader", be_online, [&in] {
    look_up(in, a2);
    expect_found(in, a1);
  });
  add_writer(s, [&in] { in.try_emplace(a2, a2); });
}

SCENARIO(map_erase_while_looked_up,
         "an erased element is not deleted while it is read, and leads to the elements behind it",
         effort::medium) {
  auto& in = make_map(s, small, {a1, b1});
  add_walker(s, in, set_of({a1}));
  add_writer(s, [&in] {
    in.erase(b1);
    reclaim_all_retired();
  });
}

SCENARIO(map_replace_while_looked_up, "a lookup finds an element or its replacement",
         effort::small) {
  auto& in = make_map(s, small, {a1});
  add_finder(s, in, a1);
  add_writer(s, [&in] { in.insert_or_assign(a1, 7U); });
}

SCENARIO(map_writers_of_one_bucket, "writers of one bucket do not lose each other's elements",
         effort::small) {
  auto& in = make_map(s, small, {a1});
  add_writer(s, [&in] { in.try_emplace(a2, a2); });
  add_writer(s, [&in] { in.erase(a1); }, "other writer");
  s.finally([&in] {
    expect_found(in, a2);
    expect(!in.contains(a1) && in.size() == 1, "an erased element is in the map");
    reclaim_all_retired();
    expect_no_sections_left();
  });
}

SCENARIO(map_erase_before_replaced_element,
         "a lookup that passes an erased element finds the next one, by another writer, complete",
         effort::small) {
  auto& in = make_map(s, small, {a1, b1, a2});
  add_finder(s, in, a1);
  add_writer(s, [&in] { in.insert_or_assign(a1, 7U); });
  add_writer(s, [&in] { in.erase(b1); }, "other writer");
}

// --- Growing

SCENARIO(map_unzips_while_walked, "a traversal finds each element once while the map grows",
         effort::large) {
  auto& over = make_map(s, small, {a2, b1, a1});
  add_walker(s, over, set_of({a1, b1, a2}));
  add_resizer(s, over, large);
}

SCENARIO(
    map_changes_while_growing,
    "an element inserted while the map grows is found, an erased one deleted after its readers",
    effort::large) {
  auto& in = make_map(s, small, {a1});
  auto& inserted = s.make<signal>("inserted");
  s.thread("reader", be_online, [&] {
    if (inserted.given()) expect_found(in, b1);
    look_up(in, a1);
  });
  add_writer(s, [&] {
    in.try_emplace(b1, b1);
    inserted.give();
    in.erase(a1);
    reclaim_all_retired();
  });
  add_resizer(s, in, large);
}

SCENARIO(map_inserts_while_growing,
         "chains that an insertion has joined while the map grew are separate afterwards",
         effort::medium) {
  auto& in = make_map(s, small, {a1});
  add_writer(s, [&in] {
    in.try_emplace(b1, b1);
    in.rehash(large);  // to its end
    in.erase(a1);
    reclaim_all_retired();
    look_up(in, b2);  // to the end of the chain
    expect_found(in, b1);
  });
  add_resizer(s, in, large);
}

SCENARIO(
    map_changes_while_unzipping,
    "while chains are unzipped, a replacement is found complete and an erased element leaves both "
    "chains",
    effort::large) {
  auto& in = make_map(s, small, {a2, b1, a1});
  add_finder(s, in, a2);
  add_writer(s, [&in] {
    in.insert_or_assign(a2, 7U);
    in.erase(b1);
    reclaim_all_retired();
  });
  add_resizer(s, in, large);
}

// A map of two elements in 16 buckets that grows to 32 with the third.
map& make_full_map(scenario& s) {
  auto& made = make_map(s, small, {b1, a1});
  made.max_load_factor(0.11F);
  made.automatic_resizing(true);
  return made;
}

SCENARIO(map_grows_without_waiting,
         "a traversal finds each element once while a writer that never waits grows the map",
         effort::large) {
  auto& over = make_full_map(s);
  add_walker(s, over, set_of({a1, b1}));
  add_writer(s, [&over] {
    over.try_emplace(a2, a2);
    over.poll_resizing();
    over.poll_resizing();
  });
}

SCENARIO(map_grown_by_two,
         "a resize that one writer begins and another takes further loses no element",
         effort::large) {
  auto& in = make_full_map(s);
  add_finder(s, in, a1);
  add_writer(s, [&in] { in.try_emplace(a2, a2); });
  add_writer(s, [&in] { in.poll_resizing(); }, "other writer");
  s.finally([&in] {
    for (const std::uint32_t key : {a1, a2, b1}) expect_found(in, key);
    destroy(in);
    expect_no_sections_left();
  });
}

// --- Shrinking

SCENARIO(map_shrinks_while_walked, "a traversal finds each element once while the map shrinks",
         effort::medium) {
  auto& over = make_map(s, large, {a1, b1});
  add_walker(s, over, set_of({a1, b1}));
  add_resizer(s, over, small);
}

SCENARIO(map_joins_new_element,
         "a lookup that comes by a joined chain to another bucket's element finds it complete",
         effort::large) {
  auto& in = make_map(s, large, {a1});
  s.thread("reader", be_online, [&in] { look_up(in, a2); });
  add_writer(s, [&in] { in.try_emplace(b1, b1); });
  add_resizer(s, in, small);
}

}  // namespace readmost::model
