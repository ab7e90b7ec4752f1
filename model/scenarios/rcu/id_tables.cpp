// SPDX-License-Identifier: Apache-2.0
// Tables of objects that are found by id: lookups and locks against threads that put objects in and
// take them out, against growth and reclamation.
#include <readmost/id_table.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

// Of an object that its lock guards.
struct record {
  explicit record(std::uint32_t number) : name(number), changes(0) {}
  content name;
  variable<std::uint32_t> changes;
};

using table = id_table<record>;

// Objects 1, 2 and so on are in the table.
table& make_table(scenario& s, std::uint32_t objects) {
  begin_containers(s);
  auto& made = s.make<table>("table");
  for (std::uint32_t number = 1; number <= objects; ++number) made.emplace(number);
  return made;
}

// The id of the object in the slot, counted from 1, or of one that comes after it.
constexpr object_id id_of(std::uint32_t slot, std::uint32_t generation = 1) {
  return object_id{generation} << 32 | (slot - 1);
}

void expect_found(table& in, object_id id, std::uint32_t number) {
  const bool found = in.visit(
      id, [&](record& one) { expect(one.name.read() == number, "another object is found"); });
  expect(found, "an object that is in the table throughout is not found");
}
void look_up(table& in, object_id id, std::uint32_t number) {
  in.visit(id, [&](record& one) { expect(one.name.read() == number, "another object is found"); });
}

// Locks the object, if it is there, and changes it.
void change(table& in, object_id id) {
  if (auto held = in.lock(id)) {
    held->name.read();
    ++held->changes;
  }
}

void add_changer(scenario& s, table& in, object_id id, const char* name) {
  s.thread(name, be_online, [&in, id] { change(in, id); });
}

void end_empty(scenario& s, table& of) {
  s.finally([&of] {
    reclaim_all_retired();
    expect(of.empty(), "an erased object is in the table");
    destroy(of);
    expect_no_sections_left();
  });
}

}  // namespace

SCENARIO(id_looked_up_while_inserted, "a lookup finds a new object complete", effort::small) {
  auto& in = make_table(s, 1);
  s.thread("reader", be_online, [&in] {
    look_up(in, id_of(2), 2);
    expect_found(in, id_of(1), 1);
  });
  s.thread("writer", be_known, [&in] { in.emplace(2U); });
}

SCENARIO(id_looked_up_while_table_grows,
         "a lookup finds an array of slots complete, and all objects that stay", effort::medium) {
  auto& in = make_table(s, 4);
  s.thread("reader", be_online, [&in] {
    expect_found(in, id_of(4), 4);
    look_up(in, id_of(5), 5);
  });
  s.thread("writer", be_known, [&in] {
    in.emplace(5U);
    reclaim_all_retired();
  });
}

SCENARIO(id_looked_up_while_table_shrinks,
         "a lookup in an array that is replaced by a smaller one finds the objects that stay",
         effort::medium) {
  auto& in = make_table(s, 5);
  in.erase(id_of(5));
  reclaim_all_retired();
  s.thread("reader", be_online, [&in] {
    expect_found(in, id_of(1), 1);
    expect(!in.contains(id_of(5)), "an object is found that is gone");
  });
  s.thread("writer", be_known, [&in] {
    in.shrink_to_fit();
    reclaim_all_retired();
  });
}

SCENARIO(id_looked_up_while_slot_is_reused,
         "an erased object is not deleted while it is read, and its id does not find the next one",
         effort::medium) {
  auto& in = make_table(s, 1);
  s.thread("reader", be_online, [&in] {
    look_up(in, id_of(1), 1);
    look_up(in, id_of(1, 2), 2);
  });
  s.thread("writer", be_known, [&in] {
    in.erase(id_of(1));
    in.emplace(2U);
    reclaim_all_retired();
  });
}

SCENARIO(id_locked_while_erased, "a thread never holds the lock of an object that is gone",
         effort::medium) {
  auto& in = make_table(s, 1);
  add_changer(s, in, id_of(1), "user");
  s.thread("writer", be_known, [&in] {
    in.erase(id_of(1));
    reclaim_all_retired();
  });
  end_empty(s, in);
}

SCENARIO(id_locked_by_two, "one thread at a time holds an object's lock", effort::small) {
  auto& in = make_table(s, 1);
  add_changer(s, in, id_of(1), "user");
  add_changer(s, in, id_of(1), "other user");
  s.finally([&in] {
    expect(in.lock(id_of(1))->changes.get() == 2, "a change is lost");
    expect_no_sections_left();
  });
}

SCENARIO(
    id_erased_while_waited_for,
    "an object that is erased by the holder of its lock is deleted after the thread that waits "
    "for the lock is done with it",
    effort::medium) {
  auto& in = make_table(s, 1);
  auto& held = s.make<table::guard>("held");
  held = in.lock(id_of(1));
  add_changer(s, in, id_of(1), "user");
  s.thread("holder", be_known, [&] {
    in.erase(std::move(held));
    reclaim_all_retired();
  });
  end_empty(s, in);
}

SCENARIO(id_erased_while_two_wait,
         "of several threads that wait for an erased object's lock, the last one retires it",
         effort::large) {
  auto& in = make_table(s, 1);
  auto& held = s.make<table::guard>("held");
  held = in.lock(id_of(1));
  add_changer(s, in, id_of(1), "user");
  add_changer(s, in, id_of(1), "other user");
  s.thread("holder", be_known, [&] { in.erase(std::move(held)); });
  end_empty(s, in);
}

SCENARIO(id_synchronized_by_holder,
         "a thread that holds an object's lock may wait for grace periods while another waits for "
         "the lock",
         effort::medium) {
  auto& in = make_table(s, 1);
  add_changer(s, in, id_of(1), "user");
  s.thread("holder", be_known, [&in] {
    if (auto held = in.lock(id_of(1))) rcu_synchronize();
  });
}

SCENARIO(id_erased_by_two, "of two threads that erase an object one does", effort::medium) {
  auto& in = make_table(s, 1);
  auto& erased = s.make<platform::atomic<std::uint32_t>>("erased", 0U);
  for (const char* name : {"writer", "other writer"}) {
    s.thread(name, be_known, [&] {
      if (in.erase(id_of(1))) erased.fetch_add(1, platform::relaxed);
    });
  }
  s.finally([&] {
    expect(erased.load(platform::relaxed) == 1, "an object is erased twice, or never");
    reclaim_all_retired();
    expect(in.empty(), "an erased object is in the table");
    destroy(in);
    expect_no_sections_left();
  });
}

}  // namespace readmost::model
