// SPDX-License-Identifier: Apache-2.0
// A counter that detects broken mutual exclusion: it is kept twice, the second time with every bit
// inverted, so that a reader that meets a half-made write sees two numbers that disagree.
#pragma once

#include <cstdint>

#include "timed_threads.hpp"

namespace examples {

class twin_counter {
 public:
  void increment() {
    ++count_;
    inverted_ = ~count_;
  }

  std::uint64_t value() const {
    const std::uint64_t count = count_;
    require(count == ~inverted_, "a reader saw a half-made write: the lock let both in at once");
    return count;
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t inverted_ = ~std::uint64_t{0};
};

}  // namespace examples
