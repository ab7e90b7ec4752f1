// SPDX-License-Identifier: Apache-2.0
// Random numbers that cost next to nothing.
#pragma once

#include <cstdint>

namespace bench {

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed + 1) {}
  // 32 bits.
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 32;
  }

 private:
  std::uint64_t state_;
};

}  // namespace bench
