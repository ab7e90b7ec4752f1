// SPDX-License-Identifier: Apache-2.0
// Read-modify-writes on the values of simulated variables.
#pragma once

#include <cstdint>

namespace readmost::model {

enum class arithmetic : std::uint8_t { exchange, add, subtract, bit_or, bit_and };

constexpr std::uint64_t mask_of(std::uint32_t size) noexcept {
  return size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1;
}

// What a variable of `size` bytes has afterwards that had `old`.
constexpr std::uint64_t combine(arithmetic how, std::uint64_t old, std::uint64_t operand,
                                std::uint32_t size) noexcept {
  std::uint64_t made = operand;
  switch (how) {
    case arithmetic::exchange:
      break;
    case arithmetic::add:
      made = old + operand;
      break;
    case arithmetic::subtract:
      made = old - operand;
      break;
    case arithmetic::bit_or:
      made = old | operand;
      break;
    case arithmetic::bit_and:
      made = old & operand;
      break;
  }
  return made & mask_of(size);
}

}  // namespace readmost::model
