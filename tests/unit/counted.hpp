// SPDX-License-Identifier: Apache-2.0
// An object that knows how many of its kind are alive, and whether it is.
#pragma once

#include <atomic>
#include <stdexcept>

namespace test {

struct counted {
  explicit counted(int initial = 0) noexcept : value(initial) { ++alive; }
  counted(const counted& other) : value(other.value) {
    if (copies_fail) throw std::runtime_error("copy");
    ++alive;
  }
  counted(counted&& other) noexcept : value(other.value) { ++alive; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() {
    value = -1;
    --alive;
  }
  bool operator==(const counted& other) const noexcept { return value == other.value; }

  int value;

  static inline std::atomic<int> alive{0};
  static inline bool copies_fail = false;
};

}  // namespace test
