// Where those who wait for a lock sleep, and how readers are woken: all at the lock's word, told
// apart by the bits of FUTEX_WAIT_BITSET.
//
// Readers sleep in buckets by the CPU they went to sleep on. Where there are CPUs enough, a writer
// wakes a few of them, then all of its own CPU's bucket and one of each other, and each woken
// reader wakes the rest of its own (FCP 6). On fewer CPUs one broadcast is sooner:
// docs/wake-up.md has the measurements.
//
// Nobody is forgotten. A reader that is queued when the state changes is either woken by the writer
// or left in a bucket of which the writer has just woken another, which then wakes all of that
// bucket: unless nobody is asleep any more, which `asleep` tells, being raised before a reader
// queues and lowered when it is back. Who queues later has seen the new state, or does not sleep.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::parking {

inline constexpr std::uint32_t writers = 1;
inline constexpr std::uint32_t upgrader = 2;
inline constexpr unsigned buckets = 8;
inline constexpr std::uint32_t first_bucket = 1U << 8;
inline constexpr std::uint32_t readers = (first_bucket << buckets) - first_bucket;

// So many sleepers are woken without a relay: as long as there are fewer, one system call does it.
inline constexpr int woken_directly = 8;

inline constexpr unsigned cpus_that_pay = 8;

// Whether woken readers wake others: decided at first use by the CPUs of the process, or by tests.
bool relays() noexcept;
void set_relay(bool on, int directly = woken_directly) noexcept;

// Sleeps as a reader while the low half of the lock's state is `expected`; as platform::futex_wait.
platform::wake_reason sleep_as_reader(platform::futex_word word, std::uint32_t expected,
                                      const platform::deadline* until) noexcept;

// Wakes all readers, itself or by others; returns how many it woke itself. Uses only the address.
int wake_readers(platform::futex_word word) noexcept;

}  // namespace readmost::detail::parking
