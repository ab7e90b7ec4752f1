// SPDX-License-Identifier: Apache-2.0
// Numbers at random, the same for the same seed.
#pragma once

#include <cstdint>

namespace readmost::simulation {

// xorshift64* (Vigna 2016).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept
      : state_(seed * 0x9E37'79B9'7F4A'7C15U + 1) {}

  std::uint64_t operator()() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545'F491'4F6C'DD1DU;
  }

  // At least 0, less than 1.
  double share() noexcept { return static_cast<double>((*this)() >> 11) / 0x1p53; }

 private:
  std::uint64_t state_;
};

}  // namespace readmost::simulation
