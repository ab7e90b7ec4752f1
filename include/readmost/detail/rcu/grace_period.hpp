// SPDX-License-Identifier: Apache-2.0
// Grace periods of RCU: waiting until every read section that was open is over (FCP 5, Fig. 8). The
// algorithm is in src/rcu/grace_period.cpp, the public names are in rcu.hpp.
#pragma once

#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// --- domain::grace_periods: the number of those that are over, times one_grace_period, and flags
// ---
inline constexpr std::uint64_t one_grace_period = 8;
inline constexpr std::uint64_t grace_period_begun = 1;    // one is in progress
inline constexpr std::uint64_t grace_period_led = 2;      // a thread is working on it
inline constexpr std::uint64_t grace_period_awaited = 4;  // threads sleep until the word changes
inline constexpr std::uint64_t grace_period_flags = one_grace_period - 1;

// How a grace period treats threads that have not reported yet.
enum class urgency : std::uint8_t {
  normal,  // waits for their reports about as long as a membarrier takes
  hurry,   // executes the membarrier at once
};

// Returns the value that domain::grace_periods has when a full grace period from now is over. The
// caller's earlier writes are ordered before that grace period.
std::uint64_t grace_period_from_now(domain& d) noexcept;

bool is_over(const domain& d, std::uint64_t grace_period) noexcept;

// Makes progress towards its end without waiting; returns whether it is over. Executes a membarrier
// only once threads have had some microseconds to report.
bool try_advance(domain& d, std::uint64_t grace_period) noexcept;
// The same without a membarrier, however long the reports take.
bool try_advance_by_reports(domain& d, std::uint64_t grace_period) noexcept;

// Returns when it is over. Precondition: the caller is in no read section of the domain.
[[gnu::noinline]] void await_grace_period(domain& d, std::uint64_t grace_period,
                                          urgency how) noexcept;

// The same for a full grace period from now.
[[gnu::noinline]] void synchronize(domain& d, urgency how) noexcept;

}  // namespace readmost::detail
