// SPDX-License-Identifier: Apache-2.0
// How many objects have been retired and not yet been reclaimed, under any policy.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bench {

// The objects of some threads: what one of them retires another may reclaim.
struct alignas(64) waiting_cell {
  std::atomic<std::int64_t> more{0};
};
inline std::array<waiting_cell, 64> waiting_cells{};

class waiting_objects {
 public:
  static void retired() { mine().fetch_add(1, std::memory_order_relaxed); }
  static void reclaimed() { mine().fetch_sub(1, std::memory_order_relaxed); }

  // Exact while nothing is retired or reclaimed.
  static std::int64_t number() {
    std::int64_t sum = 0;
    for (const waiting_cell& each : waiting_cells) sum += each.more.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static std::atomic<std::int64_t>& mine() {
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return waiting_cells[number % waiting_cells.size()].more;
  }
};

// Deletes an object of any policy.
template <class Node>
void reclaim(Node* old) {
  waiting_objects::reclaimed();
  delete old;
}
struct reclaimer {
  template <class Node>
  void operator()(Node* old) const {
    reclaim(old);
  }
};

}  // namespace bench
