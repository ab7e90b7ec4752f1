// SPDX-License-Identifier: Apache-2.0
// Whether biased locks pay although their revocations wait for CPUs that are not there.
//
// A revocation waits for CPUs. Where a hypervisor has taken one away, that is milliseconds, in
// which a lock without bias would have been used; and what a passive read saves is known too
// roughly to weigh them against, so that a lock's account counts no more than some microseconds of
// a wait. Where longer waits add up to a part of the time that matters, the threads of the domain
// try it out: they count their lock operations while locks are biased, then while no lock is given
// a bias, for a quarter of that time or all of it, and go on in the way that got more done. They
// try again after a multiple of that time, because hosts change; the longer, the more often the
// same way has won.
#pragma once

#include <algorithm>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// What the threads of a domain know about whether biased locks pay.
struct alignas(platform::cache_line) bias_trial {
  // Until when no lock is given a bias; 0 if locks may be given one.
  platform::atomic<std::uint64_t> pause_ends{};
  // Set by the thread that uses the members below.
  platform::atomic<std::uint32_t> in_use{};
  platform::variable<bool> tries{};  // in the pause, which is part of a trial
  platform::variable<bool> without_bias_won{};
  platform::variable<std::uint32_t> waits{};   // since the stretch began
  platform::variable<std::uint32_t> factor{};  // of the last rest; 0: none yet
  platform::variable<std::uint64_t> began{};   // the present stretch; 0: not yet
  platform::variable<std::uint64_t> operations{};
  platform::variable<std::uint64_t> waited{};
  platform::variable<std::uint64_t> time_with_bias{};
  platform::variable<std::uint64_t> operations_with_bias{};
  platform::variable<std::uint64_t> next_trial{};
};

// By the domain's number. Apart from the domains, which are not all zero and so take room in the
// file.
extern bias_trial bias_trials[max_domains];

// Whether locks of the domain get no bias for now. Costs one load where nobody tries anything; else
// looks at the clock, and ends a pause that is over.
bool is_bias_paused_by_trial(unsigned domain) noexcept;
inline bool is_bias_paused(unsigned domain) noexcept {
  return bias_trials[domain].pause_ends.load(platform::relaxed) != 0 &&
         is_bias_paused_by_trial(domain);
}

// A revocation in the domain took so much longer than a lock's account counts, in nanoseconds. Has
// no effect, now and then, where two threads call it at a time.
void note_long_revocation(unsigned domain, std::uint64_t excess) noexcept;

// The decisions, apart from the clock and the threads. Nanoseconds, and operations counted from any
// beginning; `operations` is called only where the number matters.
namespace trial {

inline constexpr std::uint32_t enough_waits = 8;
inline constexpr std::uint64_t shortest = 2'000'000;
// Waits that are further apart do not belong together.
inline constexpr std::uint64_t longest = 500'000'000;
// Waits that take a smaller part of the time are no reason for a trial: no lock is to lose more.
inline constexpr std::uint64_t part_that_matters = 20;
// Of a pause: if much less was done in it, it is over.
inline constexpr std::uint64_t first_part = 4;
inline constexpr double much_less = 0.8;
// What must have been done without bias to win: these figures vary, and hosts take CPUs away by
// turns.
inline constexpr double clearly_more = 1.05;
inline constexpr std::uint32_t first_rest = 32;
inline constexpr std::uint32_t longest_rest = 256;
inline constexpr std::uint64_t most_rest = 10'000'000'000;

template <class Operations>
void note_wait(bias_trial& t, std::uint64_t now, std::uint64_t excess,
               Operations operations) noexcept {
  if (t.pause_ends.load(platform::relaxed) != 0 || now < t.next_trial) return;
  const std::uint64_t time = now - t.began;
  if (t.began == 0 || time > longest) {
    t.began = now;
    t.operations = operations();
    t.waits = 0;
    t.waited = 0;
    return;
  }
  t.waits = t.waits + 1;
  t.waited = t.waited + excess;
  if (t.waits < enough_waits || time < shortest) return;
  if (t.waited < time / part_that_matters) {
    t.began = 0;
    return;
  }
  t.time_with_bias = time;
  t.operations_with_bias = operations() - t.operations;
  t.operations = t.operations_with_bias + t.operations;
  t.began = now;
  t.tries = true;
  t.pause_ends.store(now + time / first_part, platform::relaxed);
}

// The rest after a trial that this way has won, in nanoseconds.
inline std::uint64_t rest_after(bias_trial& t, bool without_bias) noexcept {
  const bool again = t.factor != 0 && t.without_bias_won == without_bias;
  t.factor = again ? std::min<std::uint32_t>(2 * t.factor, longest_rest) : first_rest;
  t.without_bias_won = without_bias;
  return std::min(t.factor * t.time_with_bias, most_rest);
}

// When a pause is over.
template <class Operations>
void end_pause(bias_trial& t, std::uint64_t now, Operations operations) noexcept {
  if (!t.tries) {
    t.began = 0;
    t.next_trial = 0;
    t.pause_ends.store(0, platform::relaxed);
    return;
  }
  const std::uint64_t time = now - t.began;
  // Operations per time, as fractions that are compared without dividing.
  const double without =
      static_cast<double>(operations() - t.operations) * static_cast<double>(t.time_with_bias);
  const double with = static_cast<double>(t.operations_with_bias) * static_cast<double>(time);
  if (time < t.time_with_bias && without > much_less * with) {
    t.pause_ends.store(t.began + t.time_with_bias, platform::relaxed);
    return;
  }
  const bool without_bias =
      READMOST_VARIANT(trial_without_verdict, without > clearly_more * with, false);
  const std::uint64_t rest = rest_after(t, without_bias);
  t.tries = false;
  t.began = 0;
  t.next_trial = without_bias ? 0 : now + rest;
  t.pause_ends.store(without_bias ? now + rest : 0, platform::relaxed);
}

}  // namespace trial

}  // namespace readmost::detail
