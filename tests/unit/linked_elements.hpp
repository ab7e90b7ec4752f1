// SPDX-License-Identifier: Apache-2.0
// Elements of intrusive containers, and what a reader finds in a container of them.
#pragma once

#include <readmost/rcu.hpp>
#include <vector>

namespace test {

template <class Hook>
struct element_by_base : Hook, readmost::rcu_obj_base<element_by_base<Hook>> {
  explicit element_by_base(int n) : number(n) {}
  ~element_by_base() { number = -1; }
  int number;
};

template <class Hook>
struct element_by_member {
  explicit element_by_member(int n) : number(n) {}
  int number;
  Hook hook;
  Hook other_hook;
};

using ints = std::vector<int>;

template <class List>
ints numbers(const List& list) {
  const readmost::rcu_reader section;
  ints all;
  for (const auto& each : list) all.push_back(each.number);
  return all;
}

}  // namespace test
