// SPDX-License-Identifier: Apache-2.0
// The finalizer of rcu_hash_map: spreads hash values over all bits, since tables take the lower
// ones and std::hash of an integer is that integer.
#pragma once

#include <cstdint>

namespace readmost::detail {

// The two halves of the product of two 64-bit numbers, by exclusive or. Each bit of the result
// depends on bits from all over `hash`: the lower half of the product carries the lower bits
// upward, the upper half brings the upper ones down. One multiplication where the machine has it.
constexpr std::uint64_t finalize(std::uint64_t hash) noexcept {
  constexpr std::uint64_t factor = 0xA076'1D64'78BD'642F;  // odd, half of its bits set
#if defined(__SIZEOF_INT128__)
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(hash) * factor;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
  constexpr std::uint64_t half = 0xFFFF'FFFF;
  const std::uint64_t low = (hash & half) * (factor & half);
  const std::uint64_t mid = (hash >> 32) * (factor & half) + (low >> 32);
  const std::uint64_t other = (hash & half) * (factor >> 32) + (mid & half);
  const std::uint64_t high = (hash >> 32) * (factor >> 32) + (mid >> 32) + (other >> 32);
  return (other << 32 | (low & half)) ^ high;
#endif
}

// Hash functions that say so by a member type `is_avalanching` spread their values themselves.
template <class Hash>
concept avalanching = requires { typename Hash::is_avalanching; };

}  // namespace readmost::detail
