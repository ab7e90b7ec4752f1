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

// Calls visit(number) for each bit that is set, until it returns false; returns whether it never
// did.
template <class Visit>
bool for_each_bit(std::uint64_t bits, Visit visit) noexcept {
  for (; bits != 0; bits &= bits - 1) {
    if (!visit(static_cast<std::uint32_t>(std::countr_zero(bits)))) return false;
  }
  return true;
}

}  // namespace readmost::detail
