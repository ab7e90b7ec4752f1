// SPDX-License-Identifier: Apache-2.0
// What a thread knows: how far each other thread has come (C++ happens-before, for data races), and
// for each location the oldest store that it may still read (release/acquire model only).
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/arena.hpp"
#include "engine/limits.hpp"

namespace readmost::model {

// A place in a location's modification order.
using position = std::int64_t;

// The positions of all locations follow the object. All views of an execution have equally many.
struct view {
  std::uint32_t clock[max_threads];

  position* positions() noexcept { return reinterpret_cast<position*>(this + 1); }
  const position* positions() const noexcept { return reinterpret_cast<const position*>(this + 1); }
};
static_assert(sizeof(view) % alignof(position) == 0);

class views {
 public:
  explicit views(arena& memory) noexcept : memory_(memory) {}

  void start(unsigned locations) noexcept { locations_ = locations; }

  view* empty() {
    auto* made = static_cast<view*>(memory_.take(size()));
    std::memset(static_cast<void*>(made), 0, size());
    return made;
  }
  view* copy(const view& other) {
    auto* made = static_cast<view*>(memory_.take(size()));
    std::memcpy(static_cast<void*>(made), &other, size());
    return made;
  }
  void join(view& into, const view& other) const noexcept {
    for (unsigned i = 0; i < max_threads; ++i) {
      into.clock[i] = std::max(into.clock[i], other.clock[i]);
    }
    join_positions(into, other);
  }
  void join_positions(view& into, const view& other) const noexcept {
    position* const a = into.positions();
    const position* const b = other.positions();
    for (unsigned i = 0; i < locations_; ++i) a[i] = std::max(a[i], b[i]);
  }

 private:
  std::size_t size() const noexcept { return sizeof(view) + locations_ * sizeof(position); }

  arena& memory_;
  unsigned locations_ = 0;
};

}  // namespace readmost::model
