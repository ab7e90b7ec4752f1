// SPDX-License-Identifier: Apache-2.0
// Lists of RCU: threads that traverse one against threads that change it.
#include <initializer_list>
#include <readmost/rcu_hlist.hpp>
#include <readmost/rcu_list.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

struct route;
struct end_of_route {
  void operator()(route* old) const noexcept;
};
struct route : rcu_list_hook, rcu_hlist_hook, rcu_obj_base<route, end_of_route> {
  explicit route(std::uint32_t number) : data(number) {}
  content data;
};
void end_of_route::operator()(route* old) const noexcept {
  old->~route();
}

using routes = rcu_list<route>;
using few_routes = rcu_hlist<route>;

route& make_route(scenario& s, std::uint32_t number) {
  return s.make<route>("route", number);
}

// Memory for an element that a thread makes while the others run.
class future_route {
 public:
  route& make(std::uint32_t number) { return *new (memory_) route(number); }

 private:
  alignas(route) unsigned char memory_[sizeof(route)];
};

// A list of elements 1, 2 and so on, and threads in their usual roles.
template <class List>
class scene_of {
 public:
  scene_of(scenario& s, std::uint32_t count) : in_(s), list(begin(s)) {
    for (std::uint32_t number = count; number != 0; --number) {
      elements[number] = &make_route(s, number);
      list.push_front(*elements[number]);
    }
  }

  // Expects to find each of `always` in this order, and no element twice.
  void add_reader(std::initializer_list<std::uint32_t> always) {
    auto* const expected = &in_.make<std::array<std::uint32_t, 4>>("expected");
    std::copy(always.begin(), always.end(), expected->begin());
    in_.thread("reader", be_online, [this, expected] {
      const std::scoped_lock section(rcu_default_domain());
      std::size_t met = 0;
      std::uint32_t seen = 0;
      for (const route& each : list) {
        const std::uint32_t number = each.data.read();
        expect((seen >> number & 1) == 0, "an element is found twice");
        seen |= 1U << number;
        if ((*expected)[met] == number) ++met;
      }
      expect((*expected)[met] == 0, "an element that is in the list throughout is not found");
    });
  }
  template <class Change>
  void add_writer(Change change) {
    in_.thread("writer", be_known, change);
  }

 private:
  List& begin(scenario& s) {
    begin_containers(s);
    return s.make<List>("list");
  }
  scenario& in_;

 public:
  List& list;
  std::array<route*, 4> elements{};
};
using scene = scene_of<routes>;
using scene_of_few = scene_of<few_routes>;

// What both kinds of list are put through. `On`: a scene.

template <class On>
void insert_while_walked(scenario& s) {
  auto& on = s.make<On>("scene", s, 2U);
  auto& fresh = s.make<future_route>("fresh");
  on.add_reader({1, 2});
  on.add_writer([&] { on.list.insert_after(*on.elements[1], fresh.make(3)); });
}

template <class On>
void erase_while_walked(scenario& s) {
  auto& on = s.make<On>("scene", s, 3U);
  on.add_reader({1, 3});
  on.add_writer([&] {
    on.list.erase(*on.elements[2]);
    on.elements[2]->retire();
    reclaim_all_retired();
  });
}

template <class On>
void erase_before_new_element(scenario& s) {
  auto& on = s.make<On>("scene", s, 2U);
  auto& fresh = s.make<future_route>("fresh");
  auto& inserted = s.make<signal>("inserted");
  on.add_reader({1});
  on.add_writer([&] {
    on.list.insert_after(*on.elements[2], fresh.make(3));
    inserted.give();
  });
  s.thread("other writer", be_known, [&] {
    if (inserted.given()) on.list.erase(*on.elements[2]);
  });
}

template <class On>
void replace_while_walked(scenario& s) {
  auto& on = s.make<On>("scene", s, 2U);
  auto& fresh = s.make<future_route>("fresh");
  on.add_reader({2});
  on.add_writer([&] { on.list.replace(*on.elements[1], fresh.make(3)); });
}

template <class On>
void clear_while_walked(scenario& s) {
  auto& on = s.make<On>("scene", s, 2U);
  on.add_reader({});
  on.add_writer([&] { on.list.clear([](route& old) { old.retire(); }); });
}

}  // namespace

SCENARIO(list_insert_while_walked, "a traversal finds new elements complete", effort::small) {
  insert_while_walked<scene>(s);
}
SCENARIO(hlist_insert_while_walked, "a traversal finds new elements complete", effort::small) {
  insert_while_walked<scene_of_few>(s);
}

SCENARIO(list_erase_while_walked,
         "a traversal continues from an erased element, which is not deleted meanwhile",
         effort::medium) {
  erase_while_walked<scene>(s);
}
SCENARIO(hlist_erase_while_walked,
         "a traversal continues from an erased element, which is not deleted meanwhile",
         effort::medium) {
  erase_while_walked<scene_of_few>(s);
}

SCENARIO(
    list_erase_before_new_element,
    "a traversal that passes an erased element finds the next one, by another writer, complete",
    effort::small) {
  erase_before_new_element<scene>(s);
}
SCENARIO(
    hlist_erase_before_new_element,
    "a traversal that passes an erased element finds the next one, by another writer, complete",
    effort::small) {
  erase_before_new_element<scene_of_few>(s);
}

SCENARIO(list_replace_while_walked, "a traversal finds an element or its replacement",
         effort::small) {
  replace_while_walked<scene>(s);
}
SCENARIO(hlist_replace_while_walked, "a traversal finds an element or its replacement",
         effort::small) {
  replace_while_walked<scene_of_few>(s);
}

SCENARIO(list_clear_while_walked, "a traversal continues from an element of a list that is cleared",
         effort::small) {
  clear_while_walked<scene>(s);
}
SCENARIO(hlist_clear_while_walked,
         "a traversal continues from an element of a list that is cleared", effort::small) {
  clear_while_walked<scene_of_few>(s);
}

SCENARIO(list_spliced_while_walked,
         "a traversal of a list that is spliced elsewhere reaches an end", effort::medium) {
  auto& on = s.make<scene>("scene", s, 2U);
  auto& other = s.make<routes>("other list");
  on.add_reader({});
  on.add_writer([&] { other.splice_back(on.list); });
}

SCENARIO(list_splice_into_walked_list, "a traversal finds spliced elements complete",
         effort::medium) {
  auto& on = s.make<scene>("scene", s, 2U);
  auto& other = s.make<routes>("other list");
  auto& fresh = s.make<future_route>("fresh");
  on.add_reader({1, 2});
  on.add_writer([&] {
    other.push_back(fresh.make(3));
    on.list.splice_front(other);
  });
}

}  // namespace readmost::model
