// SPDX-License-Identifier: Apache-2.0
// The account by which a lock decides whether to be biased towards readers, in nanoseconds.
//
// A biased lock saves time at every read and costs a revocation at every write. The account is
// credited with the time that each read saved or would have saved, and debited with the time that
// each write paid or would have paid. The lock gets the bias when the balance is high and loses it
// when the balance falls below zero, so the cost of revocations exceeds the time that readers saved
// by no more than the account's bounds.
//
// All accesses are relaxed and may lose an update to a race: the balance is a hint.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::bias {

using account = platform::atomic<std::int16_t>;

inline constexpr std::int32_t enough_for_bias = 2'000;
inline constexpr std::int32_t highest = 20'000;
inline constexpr std::int32_t lowest = -6'000;

// The account is credited with at most this many reads at a time.
inline constexpr std::uint32_t reads_credited_at_once = 4'096;
inline constexpr std::int32_t credited(std::uint64_t reads, std::int32_t saved) noexcept {
  return static_cast<std::int32_t>(reads < reads_credited_at_once ? reads
                                                                  : reads_credited_at_once) *
         saved;
}

// The price of a writer's wait: as much again for the readers that it kept out meanwhile. The
// account counts no more than this of one wait.
inline constexpr std::uint64_t longest_counted_wait = 10'000;
inline constexpr std::int32_t cost_of_wait(std::uint64_t nanoseconds) noexcept {
  return 2 * static_cast<std::int32_t>(nanoseconds < longest_counted_wait ? nanoseconds
                                                                          : longest_counted_wait);
}

inline void add(account& to, std::int32_t amount) noexcept {
  const std::int32_t old = to.load(platform::relaxed);
  std::int32_t balance = old + amount;
  balance = balance > highest ? highest : balance < lowest ? lowest : balance;
  if (balance != old) to.store(static_cast<std::int16_t>(balance), platform::relaxed);
}

inline bool is_earned(const account& by) noexcept {
  return by.load(platform::relaxed) >= enough_for_bias;
}
inline bool is_worth_keeping(const account& by) noexcept {
  return by.load(platform::relaxed) >= 0;
}

// The average that follows `cost` slowly.
inline constexpr std::uint64_t moved_towards(std::uint64_t average, std::uint64_t cost) noexcept {
  return (7 * average + cost) / 8;
}

}  // namespace readmost::detail::bias
