// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <shared_mutex>

bool reads_agree(table& shared, int times) {
  bool agree = true;
  for (int i = 0; i < times; ++i) {
    std::shared_lock reading(shared.guard);
    agree = agree && shared.left == shared.right;
  }
  return agree;
}
