// SPDX-License-Identifier: Apache-2.0
// What READMOST_LOCK_CHECK knows of a thread's holds: a table for each thread, which `readmost
// holders` reads from outside.
#pragma once

#include "lock/lock_order.hpp"
#include "lock/observation.hpp"
#include "platform/findings.hpp"

namespace readmost::detail::lock_check {

// The owner writes all of it while `lock` is 0, and another thread may set that to 0.
struct hold {
  platform::atomic<std::uintptr_t> lock{};
  platform::atomic<hold_kind> kind{};
  std::uint64_t since{};  // nanoseconds
  trace where;
};

struct known_edge {
  std::uintptr_t from;
  std::uintptr_t to;
  hold_kind held;
  wait_kind wanted;
  std::uint64_t version;
};

struct held_locks {
  static constexpr std::uint32_t most = 64;
  static constexpr std::size_t most_edges = 64;

  platform::atomic<held_locks*> next{};
  platform::atomic<std::uint32_t> owned{};
  platform::atomic<std::int32_t> thread{};
  platform::atomic<std::uint32_t> used{};  // of the holds; those above are free
  std::uint32_t unknown{};                 // holds that are not noted
  known_edge edges[most_edges]{};          // that the thread has added to the order, by address
  hold holds[most]{};
  order_cycle cycle{};  // found last
};

// Tables are never unmapped.
extern platform::atomic<held_locks*> first_table;

}  // namespace readmost::detail::lock_check
