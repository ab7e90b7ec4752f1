// SPDX-License-Identifier: Apache-2.0
// Bounded spin loops that report to rounds meanwhile.
#pragma once

#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// Spins until done() is true, for at most that many turns; returns whether it is.
template <class Done>
bool spin_up_to(std::uint32_t most, Done done) noexcept {
  const std::uint32_t turns = platform::spins(most);
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    report_if_asked();
    platform::relax();
    if (done()) return true;
  }
  return false;
}

// Spins until done() is true, for at most that many nanoseconds; returns whether it is. The first
// turns do not read the clock, which costs as much as many of them. Calls between_turns(turn) after
// each.
template <class Done, class BetweenTurns>
bool spin_for(std::uint64_t nanoseconds, Done done, BetweenTurns between_turns) noexcept {
  const std::uint32_t turns_without_clock = platform::spins(16);
  std::uint64_t start = 0;
  for (std::uint32_t turn = 0;; ++turn) {
    if (done()) return true;
    if (turn == turns_without_clock) {
      start = platform::now();
    } else if (turn > turns_without_clock && platform::now() - start > nanoseconds) {
      return false;
    }
    report_if_asked();
    platform::relax();
    between_turns(turn);
  }
}

}  // namespace readmost::detail
