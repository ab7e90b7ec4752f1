// SPDX-License-Identifier: Apache-2.0
// For how long a thread stays away from a lock that many threads want without a pause.
//
// The more of them are away, the longer each stays, so that together they come back about as often
// as a scheduler would give each of them a CPU, and the one that is left has the lock to itself
// meanwhile. Locks whose addresses share a place are taken for one.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail::absence {

// In nanoseconds.
inline constexpr std::uint64_t shortest = 800'000;
inline constexpr std::uint64_t longest = 100 * shortest;

// Counts the caller among those who are away from the lock. Returns for how long it is to be.
std::uint64_t begin(const rwlock& lock) noexcept;
void end(const rwlock& lock) noexcept;

// In a fork's child, where those who were away do not exist.
void forget_all() noexcept;

}  // namespace readmost::detail::absence
