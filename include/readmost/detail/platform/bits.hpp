// SPDX-License-Identifier: Apache-2.0
// Words of bits; each bit stands for a resource that one thread at a time can take.
#pragma once

#include <bit>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

constexpr std::uint64_t bit(std::uint32_t number) noexcept {
  return std::uint64_t{1} << number;
}

inline constexpr std::uint32_t no_bit = 64;

// Sets the lowest bit that is clear, by a compare-and-swap of that order. Returns its number, or
// `no_bit`.
inline std::uint32_t take_bit(platform::atomic<std::uint64_t>& taken,
                              std::memory_order order) noexcept {
  std::uint64_t known = taken.load(platform::relaxed);
  while (known != ~std::uint64_t{0}) {
    const auto number = static_cast<std::uint32_t>(std::countr_one(known));
    if (taken.compare_exchange_weak(known, known | bit(number), order, platform::relaxed)) {
      return number;
    }
  }
  return no_bit;
}

inline void give_back_bit(platform::atomic<std::uint64_t>& taken, std::uint32_t number,
                          std::memory_order order) noexcept {
  taken.fetch_and(~bit(number), order);
}

}  // namespace readmost::detail
