// SPDX-License-Identifier: Apache-2.0
// The word in a thread's record that says whether the thread is inside a read section of RCU.
#pragma once

#include <cstdint>

namespace readmost::detail {

inline constexpr std::uint64_t section_nesting = 0xFFFF'FFFF;
// The section is counted in the domain too, in one of its two phases, until the nesting in the
// highest bits is left.
inline constexpr std::uint64_t section_counted = std::uint64_t{1} << 32;
inline constexpr std::uint64_t section_counted_in_second = std::uint64_t{1} << 33;
// Every entry and exit takes the slow path, which checks for misuse (src/rcu/misuse.hpp).
inline constexpr std::uint64_t section_checked = std::uint64_t{1} << 34;
// No thread's record: see `unregistered`.
inline constexpr std::uint64_t section_of_nobody = std::uint64_t{1} << 35;
inline constexpr unsigned section_count_shift = 36;

constexpr bool is_open(std::uint64_t section) noexcept {
  return (section & section_nesting) != 0;
}

// The nesting at which the section was counted; 0 if it was not.
constexpr std::uint64_t counted_at(std::uint64_t section) noexcept {
  return section >> section_count_shift;
}

// Whether a grace period has to wait for the section in this record. It need not if the outermost
// section is counted; a count at a deeper nesting comes from a signal handler that interrupted an
// entry.
constexpr bool is_noted(std::uint64_t section) noexcept {
  return is_open(section) && counted_at(section) != 1;
}

}  // namespace readmost::detail
