// SPDX-License-Identifier: Apache-2.0
// How many threads the checker simulates, and how it numbers threads and store buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/library.hpp"

namespace readmost::model {

// Simulated threads, with the main one.
inline constexpr unsigned max_threads = 8;

// What may act next: a thread, or the store buffer of a thread, which drains by itself.
using actor = unsigned;
inline constexpr actor max_actors = 2 * max_threads;
inline constexpr actor nobody = ~0U;

constexpr actor buffer_of(unsigned thread) noexcept {
  return thread + max_threads;
}
constexpr bool is_buffer(actor who) noexcept {
  return who >= max_threads;
}
constexpr unsigned thread_of(actor who) noexcept {
  return who % max_threads;
}

// A set of actors.
using actors = std::uint32_t;
constexpr actors only(actor who) noexcept {
  return 1U << who;
}
constexpr bool contains(actors set, actor who) noexcept {
  return (set & only(who)) != 0;
}

// Calls visit(actor) for each member.
template <class Visit>
void for_each(actors set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<actor>(__builtin_ctz(set)));
}

}  // namespace readmost::model
