// SPDX-License-Identifier: Apache-2.0
// Which bias locks get where revocations wait for CPUs that are not there.
//
// A revocation waits until each CPU has executed a fence or each reader has reported. Where a
// hypervisor has taken a CPU away, that is milliseconds. A lock that is biased_by_fences has
// revocations that wait for nobody, but each of its reads executes a fence; and what a read saves
// is known too roughly to weigh that against milliseconds, so that a lock's account counts no more
// than some microseconds of a wait. Where longer waits add up to a part of the time that matters,
// the threads of the domain try it out: they count their lock operations while locks have their
// usual bias, then while those that are given one get it by fences, for a quarter of that time or
// all of it, and keep the fences if they got more done. They try again after a multiple of that
// time, because hosts change; the longer, the more often the same way has won.
#pragma once

#include <algorithm>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// What the threads of a domain know about which bias pays.
struct alignas(platform::cache_line) bias_trial {
  // Until when a bias is given by fences; 0 if the usual one is given.
  platform::atomic<std::uint64_t> fences_end{};
  // Set by the thread that uses the members below.
  platform::atomic<std::uint32_t> in_use{};
  platform::variable<bool> tries{};  // fences, for the second part of a trial
  platform::variable<bool> fences_won{};
  platform::variable<std::uint32_t> waits{};   // since the stretch began
  platform::variable<std::uint32_t> factor{};  // of the last rest; 0: none yet
  platform::variable<std::uint64_t> began{};   // the present stretch; 0: not yet
  platform::variable<std::uint64_t> operations{};
  platform::variable<std::uint64_t> waited{};
  platform::variable<std::uint64_t> time_with_rounds{};
  platform::variable<std::uint64_t> operations_with_rounds{};
  platform::variable<std::uint64_t> next_trial{};
};

// By the domain's number. Apart from the domains, which are not all zero and so take room in the
// file.
extern bias_trial bias_trials[max_domains];

// Whether locks of the domain get their bias by fences for now. Costs one load where nobody tries
// anything; else looks at the clock, and ends the time of fences if it is over.
bool has_trial_chosen_fences(unsigned domain) noexcept;
inline bool are_fences_chosen(unsigned domain) noexcept {
  return bias_trials[domain].fences_end.load(platform::relaxed) != 0 &&
         has_trial_chosen_fences(domain);
}

// A revocation in the domain took so much longer than a lock's account counts, in nanoseconds. Has
// no effect, now and then, where two threads call it at a time.
void note_long_revocation(unsigned domain, std::uint64_t excess) noexcept;

// The decisions, apart from the clock and the threads. Nanoseconds, and operations counted from any
// beginning; `operations` is called only where the number matters.
namespace trial {

inline constexpr std::uint32_t enough_waits = 16;
inline constexpr std::uint64_t shortest = 2'000'000;
// Waits that are further apart do not belong together.
inline constexpr std::uint64_t longest = 500'000'000;
// Waits that take a smaller part of the time are no reason for a trial: no lock is to lose more.
inline constexpr std::uint64_t part_that_matters = 20;
// Of the time of fences: if much less was done in it, it is over.
inline constexpr std::uint64_t first_part = 4;
inline constexpr double much_less = 0.8;
// What must have been done with fences to win: these figures vary. Where threads outnumber CPUs,
// waits are long because writers lose their own, and fences do not help.
inline constexpr double clearly_more = 1.05;
inline constexpr std::uint32_t first_rest = 16;
inline constexpr std::uint32_t longest_rest = 256;
inline constexpr std::uint64_t most_rest = 10'000'000'000;

template <class Operations>
void note_wait(bias_trial& t, std::uint64_t now, std::uint64_t excess,
               Operations operations) noexcept {
  if (t.fences_end.load(platform::relaxed) != 0 || now < t.next_trial) return;
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
  t.time_with_rounds = time;
  t.operations_with_rounds = operations() - t.operations;
  t.operations = t.operations_with_rounds + t.operations;
  t.began = now;
  t.tries = true;
  t.fences_end.store(now + time / first_part, platform::relaxed);
}

// The rest after a trial that this way has won, in nanoseconds.
inline std::uint64_t rest_after(bias_trial& t, bool fences) noexcept {
  const bool again = t.factor != 0 && t.fences_won == fences;
  t.factor = again ? std::min<std::uint32_t>(2 * t.factor, longest_rest) : first_rest;
  t.fences_won = fences;
  return std::min(t.factor * t.time_with_rounds, most_rest);
}

// When the time of fences is over.
template <class Operations>
void end_fences(bias_trial& t, std::uint64_t now, Operations operations) noexcept {
  if (!t.tries) {
    t.began = 0;
    t.next_trial = 0;
    t.fences_end.store(0, platform::relaxed);
    return;
  }
  const std::uint64_t time = now - t.began;
  // Operations per time, as fractions that are compared without dividing.
  const double fenced =
      static_cast<double>(operations() - t.operations) * static_cast<double>(t.time_with_rounds);
  const double rounds = static_cast<double>(t.operations_with_rounds) * static_cast<double>(time);
  if (time < t.time_with_rounds && fenced > much_less * rounds) {
    t.fences_end.store(t.began + t.time_with_rounds, platform::relaxed);
    return;
  }
  const bool fences =
      READMOST_VARIANT(trial_without_verdict, fenced > clearly_more * rounds, false);
  const std::uint64_t rest = rest_after(t, fences);
  t.tries = false;
  t.began = 0;
  t.next_trial = fences ? 0 : now + rest;
  t.fences_end.store(fences ? now + rest : 0, platform::relaxed);
}

}  // namespace trial

}  // namespace readmost::detail
