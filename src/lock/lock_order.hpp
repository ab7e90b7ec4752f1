// SPDX-License-Identifier: Apache-2.0
// The order in which threads take locks: a graph with an edge from each lock that was held to the
// lock that was waited for meanwhile. A cycle can end in a deadlock if at each of its locks the
// hold keeps out the one who waits.
//
// A read lock under reader preference (a weak wait) is kept out by a writer inside only. Under the
// other preferences it also waits behind a waiting writer, which any reader inside keeps out.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "lock/observation.hpp"
#include "platform/findings.hpp"

namespace readmost::detail::lock_check {

enum class wait_kind : std::uint8_t { weak_read, read, write };
inline constexpr unsigned wait_kinds = 3;

// Who waited for `to` while holding `from`, and where it took the one and waited for the other.
struct order_edge {
  std::uintptr_t from;
  std::uintptr_t to;
  std::int32_t thread;
  hold_kind held;
  wait_kind wanted;
  trace holding;
  trace waiting;
};

// The edges of a cycle, beginning with the one that closed it.
struct order_cycle {
  static constexpr std::size_t most = 8;
  std::size_t length;  // 0: there is none; more than `most`: not all of it is in `edges`
  order_edge edges[most];
};

// Notes the edge; fills `found` if it closes a cycle. Known edges cost a look at a table.
// False if the graph has no more room, at the first time only.
bool add_to_order(const order_edge& edge, order_cycle& found) noexcept;

// Forgets all about a lock that no longer exists.
void forget_in_order(std::uintptr_t lock) noexcept;

// In a fork's child, where another thread may have been changing the graph.
void forget_order() noexcept;

// Changes whenever something is forgotten.
std::uint64_t version_of_order() noexcept;

}  // namespace readmost::detail::lock_check
