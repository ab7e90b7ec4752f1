// SPDX-License-Identifier: Apache-2.0
// Objects whose deleters do what a test asks.
#pragma once

#include <readmost/rcu.hpp>
#include <utility>

namespace test {

template <class Action>
void retire_with(readmost::rcu_domain& dom, Action action) {
  readmost::rcu_retire(
      new int,
      [action = std::move(action)](int* p) mutable {
        action();
        delete p;
      },
      dom);
}

}  // namespace test
