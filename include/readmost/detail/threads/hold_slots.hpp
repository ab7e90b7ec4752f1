// SPDX-License-Identifier: Apache-2.0
// Where a thread's record names the locks that the thread holds: slots for passive holds, notes of
// active ones, the lock that it waits for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace readmost::detail {

// Passive holds that a record has room for: one in the home slot of each lock, and a few whose home
// slot is taken. A reader without a free slot holds actively.
inline constexpr std::size_t home_slots = 8;
inline constexpr std::size_t nested_slots = 4;
inline constexpr std::size_t passive_slots = home_slots + nested_slots;

// A slot has the address of a lock that the owner holds passively, or 0. This tag, in the lowest
// bit of a lock's address, marks a hold that another thread has moved to the lock's count
// (src/lock/moving.cpp).
inline constexpr std::uintptr_t moved_hold = 1;
// And this one, in a nested slot, marks an active hold that the owner has taken over a passive one
// of the same lock, so that a signal handler releases its own hold, and not the one whose release
// it has interrupted.
inline constexpr std::uintptr_t counted_hold = 2;

constexpr bool is_passive_hold(std::uintptr_t slot) noexcept {
  return slot != 0 && (slot & (moved_hold | counted_hold)) == 0;
}
// Whether the slot is taken: a moved hold takes it no longer.
constexpr bool is_in_use(std::uintptr_t slot) noexcept {
  return slot != 0 && (slot & moved_hold) == 0;
}

// Active holds that a record can note; `unnoted` counts further ones. With the least number of
// passive holds of a thread that finds no room for more, one home slot and the nested ones, as many
// as upgrades promise to know.
inline constexpr std::size_t most_known_holds = 14;
inline constexpr std::size_t noted_holds = most_known_holds - 1 - nested_slots;
// This tag, in the first note, says that another hold of the same lock is noted as well. Then no
// release takes the fast path, which ends by clearing the first note: a signal handler that
// interrupts it just before takes off the note of its own hold.
inline constexpr std::uintptr_t held_again = 1;

// In the low bits of `waiting_in`.
enum class waits_as : std::uintptr_t {
  writer,
  reader,
  upgrader,
  counted_upgrader,
  next_writer,  // not counted, but it has asked to be next
};

// In the low bits of `sleeps_for`, for those who look at a thread from outside.
enum class sleeps_as : std::uintptr_t { reader = 1, writer = 2, upgrader = 3 };
inline constexpr std::uintptr_t sleeps_until_deadline = 4;

// Fibonacci hashing; use the upper bits.
inline std::uint64_t scattered(std::uintptr_t address) noexcept {
  return std::uint64_t{address} * 0x9E37'79B9'7F4A'7C15U;
}
inline std::uint64_t scattered(const void* address) noexcept {
  return scattered(reinterpret_cast<std::uintptr_t>(address));
}

// The slot that a hold of the lock gets if possible. Spreads locks by address, so that several
// locks held at once mostly have slots of their own.
inline std::size_t home_slot(std::uintptr_t lock) noexcept {
  return static_cast<std::size_t>(scattered(lock) >> 61);
}
inline std::size_t home_slot(const void* lock) noexcept {
  return home_slot(reinterpret_cast<std::uintptr_t>(lock));
}
static_assert(home_slots == 1U << (64 - 61));

}  // namespace readmost::detail
