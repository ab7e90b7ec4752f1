// SPDX-License-Identifier: Apache-2.0
// Whether a thread takes part in rounds of consensus: the mode of its record.
#pragma once

#include <cstdint>

namespace readmost::detail {

// Whether the owner may lock passively: the low three bits of the mode. The others count how often
// the owner came online, so that a compare-and-swap cannot mistake one period online for another.
enum class participation : std::uint32_t {
  offline = 0,    // not in the domain's index: rounds do not read it
  online = 1,     // may lock passively at any time: a round needs its report or a membarrier
  unlisting = 2,  // a round is taking it out of the index
  leaving = 4,    // told to stop by a round whose membarrier has not run yet
  dormant = 6,    // locks passively by fenced holds alone; what it holds is visible to rounds
};
inline constexpr std::uint32_t participation_mask = 7;
inline constexpr std::uint32_t participation_period = 8;

constexpr participation participation_of(std::uint32_t mode) noexcept {
  return static_cast<participation>(mode & participation_mask);
}

// Only `online` has this bit of the mode.
inline constexpr std::uint32_t online_bit = 1;
// `offline` and `unlisting` have none of these.
inline constexpr std::uint32_t listed_bits = 5;

}  // namespace readmost::detail
