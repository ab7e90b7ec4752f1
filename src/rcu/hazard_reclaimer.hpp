// SPDX-License-Identifier: Apache-2.0
// The thread that reclaims what is retired under hazard pointers, in programs that ask for one.
#pragma once

#include <readmost/detail/rcu/hazard_slot.hpp>

namespace readmost::detail {

// The state of the thread.
enum hazard_reclaimer_state : std::uint32_t {
  no_hazard_reclaimer,         // at first, after a pause, and while no thread can be started
  hazard_reclaimer_awake,      // it scans, or will
  hazard_reclaimer_asleep,     // for a while, unless it is woken
  hazard_reclaimer_finishing,  // the process is ending: it scans once more
  hazard_reclaimer_over,       // the process is ending: nothing is reclaimed any more
};
extern platform::atomic<std::uint32_t> hazard_reclaimer;
// No thread can be started before that, in nanoseconds of platform::now(); 0: not refused.
extern platform::atomic<std::uint64_t> start_hazard_reclaimer_again;

// For a thread that has retired an object, after that: starts the thread if there is none, and
// wakes it if a scan is due.
void tell_hazard_reclaimer(bool is_scan_due) noexcept;
// At the end of the process: reclaims what is retired by now, and ends the thread. Waits for it,
// but not for long.
void finish_hazard_reclaimer() noexcept;
// In the child of a fork.
void forget_hazard_reclaimer() noexcept;

// --- hazard_pointer.cpp

// Whether any thread has retired something that is not reclaimed yet.
bool is_hazardous_left() noexcept;
// The same, if no other thread than the hazard reclaimer scans.
bool is_left_to_hazard_reclaimer() noexcept;
// So much waits that the thread cannot keep up.
bool is_hazardous_far_above_limit() noexcept;
std::int64_t hazardous_objects() noexcept;
// Between two scans where there is no other reason for one.
std::uint64_t longest_pause_between_scans() noexcept;

}  // namespace readmost::detail
