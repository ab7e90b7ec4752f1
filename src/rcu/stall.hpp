// SPDX-License-Identifier: Apache-2.0
// Warnings about what keeps objects from being reclaimed: a reader that stays, a deleter that takes
// long, a backlog above its limit. On stderr; of each kind and domain at most one in the time of
// the stall limit. They allocate no memory and take no lock.
#pragma once

#include <readmost/detail/rcu/retired.hpp>

namespace readmost::detail {

// The time in nanoseconds after which a grace period that waits for a reader is reported; 0: never,
// and nothing else is reported either.
std::uint64_t stall_limit() noexcept;

// A grace period of the domain has been waiting for so long. `reader`: a thread that is inside;
// null if only threads without a record are.
void warn_of_stall(domain& d, const thread_record* reader, std::uint64_t nanoseconds) noexcept;

// A deleter that takes longer is reported, in nanoseconds.
inline constexpr std::uint64_t slow_deleter = 1'000'000'000;
// These have taken so long together. `replaced`: another thread has run those behind.
void warn_of_slow_deleters(const domain& d, const retired_kind* const* kinds, unsigned count,
                           std::uint64_t nanoseconds, bool replaced) noexcept;
// This one has been running for so long.
void warn_of_running_deleter(const domain& d, const retired_kind* kind, std::uint64_t nanoseconds,
                             bool replaced) noexcept;

// The backlog is above its limit, and nobody waits for it to shrink.
void warn_of_backlog(domain& d) noexcept;

// Grace periods work without reclamation, which tells the warnings by this how much waits.
void tell_stalls_of_backlog(rcu_statistics (*figures)(domain& d) noexcept) noexcept;

}  // namespace readmost::detail
