// SPDX-License-Identifier: Apache-2.0
// Waiters of a lock sleep on the lock's state; the bits of FUTEX_WAIT_BITSET tell writers,
// upgraders and readers apart.
//
// Readers sleep in buckets by the CPU on which they go to sleep. With enough CPUs a writer wakes a
// few readers, then all of its own CPU's bucket and one reader of each other bucket, and each woken
// reader wakes the rest of its bucket (FCP 6). With fewer CPUs one broadcast is faster:
// docs/wake-up.md has the measurements.
//
// No reader is forgotten. A reader that is queued when the state changes is either woken by the
// writer or in a bucket of which the writer has just woken another reader, which wakes the rest of
// the bucket unless `asleep` says that no reader is left. A reader raises `asleep` before it queues
// and lowers it when it is back. A reader that queues later has seen the new state, or does not
// sleep.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::parking {

inline constexpr std::uint32_t writers = 1;
inline constexpr std::uint32_t upgrader = 2;
inline constexpr unsigned buckets = 8;
inline constexpr std::uint32_t first_bucket = 1U << 8;
inline constexpr std::uint32_t readers = (first_bucket << buckets) - first_bucket;

// Sleepers that are woken without a relay: one system call suffices for up to so many.
inline constexpr int woken_directly = 8;

inline constexpr unsigned cpus_that_pay = 8;

// Whether woken readers wake others. Depends on the number of CPUs at first use, or on tests.
bool relays() noexcept;
void set_relay(bool on, int directly = woken_directly) noexcept;

// As platform::futex_wait(), for a reader; `expected`: the low half of the lock's state.
platform::wake_reason sleep_as_reader(platform::futex_word word, std::uint32_t expected,
                                      const platform::deadline* until) noexcept;

// Wakes all readers, some of them through others; returns how many it woke itself. Uses only the
// address.
int wake_readers(platform::futex_word word) noexcept;

}  // namespace readmost::detail::parking
