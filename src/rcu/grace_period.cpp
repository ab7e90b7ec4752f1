// SPDX-License-Identifier: Apache-2.0
// Grace periods.
//
// Problem. An object that was unlinked may be reclaimed when every read section that was open then
// is over. Readers publish only whether they are inside.
//
// Solution. The leader of a grace period first reaches consensus with the domain (consensus.cpp):
// afterwards every section that began without seeing the unlinking is visible in its thread's
// record. Then each thread is in one of three states.
//   It has reported the grace period's version, or a later one, outside of all sections (G5): a
//     section that it is in began after that.
//   It is in no section (G4).
//   It is in a section that may be older. The leader waits, first spinning, then asleep
//     (drain_sleep). The thread wakes it when it leaves, and reports then, so the leader need not
//     catch it outside.
// Grace periods are numbered and shared: one thread leads at a time, and a thread that needs a
// grace period which begins after some point waits for its number. Rounds of lock writers make
// readers report as well, and share their membarriers.
#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/detail/rcu/read_section.hpp>
#include <readmost/detail/threads/spinning.hpp>

#include "platform/tools.hpp"
#include "rcu/misuse.hpp"
#include "rcu/stall.hpp"
#include "threads/chunk_report.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// What (G4), (G9) and (W5) mean: the sections that are over happen before what the caller does.
void tell_of_sections(const domain& d) noexcept {
  if (!tools::are_present()) return;
  for_each_record(domains[number_of(d)],
                  [](const thread_record& record, bool) { tools::happens_after(&record.section); });
  tools::happens_after(&d);
}

constexpr std::uint64_t count_of(std::uint64_t word) noexcept {
  return word & ~grace_period_flags;
}

constexpr bool has_reached(std::uint64_t word, std::uint64_t grace_period) noexcept {
  return static_cast<std::int64_t>(count_of(word) - grace_period) >= 0;
}

// Whether the thread may still be inside a section that began before the version was raised.
bool is_inside_since(const thread_record& record, std::uint64_t version) noexcept {
  // (G5) Pairs with (E2): a report made outside of sections happens before this.
  const std::uint64_t seen = record.seen.load(at(letter::G5, platform::acquire));
  if (version != 0 && is_settled(seen, version)) return false;
  // (G4) Pairs with (G2): a section that is over happens before this.
  const std::uint64_t section = record.section.load(at(letter::G4, platform::acquire));
  if (is_mutant(mutant::counted_is_enough) && counted_at(section) != 0) return false;
  return is_noted(section);
}

const thread_record* somebody_inside(domain& d, std::uint64_t version) noexcept {
  const thread_record* found = nullptr;
  const auto look_at = [&](const thread_record& record) {
    if (is_inside_since(record, version)) found = &record;
    return found == nullptr;
  };
  for_each_present(d, look_at, fetched::reports, version);
  return found;
}

bool is_counted_section_left(const domain& d, std::uint32_t phase) noexcept {
  // (G9) Pairs with (G8): counted sections that are over happen before this.
  return d.counted_sections[phase].load(at(letter::G9, platform::acquire)) != 0;
}

// Each phase must have been seen empty once since the consensus. New sections are counted in the
// current phase, so the other one empties first; then the phases change roles.
bool counted_sections_are_over(domain& d) noexcept {
  auto& empty = d.progress.empty_phases;
  for (int step = 0; step < 2 && empty != 3; ++step) {
    const std::uint32_t current = d.counting_phase.load(platform::relaxed) & 1;
    for (const std::uint32_t phase : {1 - current, current}) {
      if (!is_counted_section_left(d, phase)) empty = empty | 1U << phase;
    }
    if ((empty & 1U << (1 - current)) == 0) return false;
    if (empty != 3) d.counting_phase.store(1 - current, platform::relaxed);
  }
  return empty == 3;
}

// Precondition of the functions that follow: the caller leads.

void begin(domain& d, const thread_record* me) noexcept {
  // The read-modify-write before (K1) is that of try_lead().
  d.progress.version = begin_round(d, me);
  d.progress.begun = 0;
  d.progress.told_of_stall = false;
  d.progress.consensus = false;
  d.progress.empty_phases = 0;
}

// The time at which the age of the grace period was first needed. The clock is not read before
// that: it costs as much as half a grace period without readers.
std::uint64_t begun_at(domain& d) noexcept {
  if (d.progress.begun == 0) d.progress.begun = platform::now();
  return d.progress.begun;
}
std::uint64_t nanoseconds_in_progress(domain& d) noexcept {
  const std::uint64_t begun = begun_at(d);
  return platform::now() - begun;
}

void reach_consensus_for(domain& d, thread_record* me, bool patient) noexcept {
  if (d.progress.consensus) return;
  if (end_round(d, me, d.progress.version, patient) == round_kind::membarrier) {
    count_own(d.grace_periods_by_membarrier);
  }
  d.progress.consensus = true;
}

// After the consensus: whether every section that the grace period waits for is over.
bool sections_are_over(domain& d) noexcept {
  const thread_record* const inside = somebody_inside(d, d.progress.version);
  if (inside == nullptr) {
    return READMOST_VARIANT(
        one_phase, counted_sections_are_over(d),
        !is_counted_section_left(d, d.counting_phase.load(platform::relaxed) & 1));
  }
  // From now on, threads that leave report.
  if (d.progress.version == 0) d.progress.version = d.version.fetch_add(2, platform::relaxed) + 2;
  const std::int32_t thread = inside->thread.load(platform::relaxed);
  if (d.waits_for.load(platform::relaxed) != thread) {
    d.waits_for.store(thread, platform::relaxed);
    d.waits_since.store(begun_at(d), platform::relaxed);
  }
  return false;
}

// Most sections end before a sleeping leader would be woken. The yields help where there are more
// threads than CPUs.
constexpr std::uint64_t spin_for_sections = 20'000;
constexpr std::uint32_t spins_between_yields = 64;

bool are_over_soon(domain& d) noexcept {
  return spin_for(
      platform::spins(1) * spin_for_sections, [&] { return sections_are_over(d); },
      [](std::uint32_t turn) {
        if (turn % spins_between_yields == spins_between_yields - 1) platform::yield();
      });
}

void tell_of_long_sections(domain& d) noexcept {
  for_each_present(d, [&](const thread_record& record) {
    if (is_inside_since(record, d.progress.version)) report_if_long(record);
    return true;
  });
}

// Once for each grace period.
void tell_of_stall(domain& d) noexcept {
  const std::uint64_t limit = stall_limit();
  if (limit == 0 || d.progress.told_of_stall || nanoseconds_in_progress(d) < limit) return;
  d.progress.told_of_stall = true;
  warn_of_stall(d, somebody_inside(d, d.progress.version), nanoseconds_in_progress(d));
}

// The next time at which a sleeping leader has to look whether to report something.
class next_report {
 public:
  explicit next_report(domain& d) noexcept : d_(d) { choose(); }

  // Null: never.
  const platform::deadline* deadline() const noexcept { return in_ != 0 ? &until_ : nullptr; }

  void report_if_due() noexcept {
    if (in_ == 0 || platform::time_left(until_) != 0) return;
    if (section_limit() != 0) tell_of_long_sections(d_);
    tell_of_stall(d_);
    choose();
  }

 private:
  void choose() noexcept {
    in_ = section_limit();
    const std::uint64_t stall = stall_limit();
    if (stall != 0 && !d_.progress.told_of_stall && (in_ == 0 || stall < in_)) in_ = stall;
    if (in_ != 0) until_ = platform::in(in_);
  }

  domain& d_;
  std::uint64_t in_ = 0;  // nanoseconds; 0: never
  platform::deadline until_{};
};

void await_sections(domain& d) noexcept {
  if (are_over_soon(d)) return;
  count_own(d.grace_periods_asleep);
  begun_at(d);
  next_report report(d);
  drain_sleep sleep(d, nullptr);
  for (;;) {
    const std::uint32_t epoch = sleep.epoch();
    if (sections_are_over(d)) return;
    sleep.wait(epoch, report.deadline());
    report.report_if_due();
  }
}

// Returns whether the caller now leads; then a grace period is in progress.
bool try_lead(domain& d, std::uint64_t word) noexcept {
  if ((word & grace_period_led) != 0) return false;
  // (W2) Pairs with (W3), (W4): sees the progress that the last leader made.
  return d.grace_periods.compare_exchange_strong(word, word | grace_period_led | grace_period_begun,
                                                 at(letter::W2, platform::acquire),
                                                 platform::relaxed);
}

void wake_those_who_wait(domain& d) noexcept {
  if (is_mutant(mutant::silent_leader)) return;
  platform::futex_wake(platform::futex_of_low_half(d.grace_periods), INT32_MAX, ~0U);
}

void end_grace_period(domain& d) noexcept {
  d.waits_for.store(0, platform::relaxed);
  const std::uint64_t done = count_of(d.grace_periods.load(platform::relaxed)) + one_grace_period;
  // (W3) Pairs with (W5), (W2): the sections that are over happen before everything that follows
  // the grace period.
  const std::uint64_t before = d.grace_periods.exchange(done, at(letter::W3, platform::release));
  if ((before & grace_period_awaited) != 0) wake_those_who_wait(d);
}

void stop_leading(domain& d) noexcept {
  // (W4) Pairs with (W2).
  const std::uint64_t before = d.grace_periods.fetch_and(~(grace_period_led | grace_period_awaited),
                                                         at(letter::W4, platform::release));
  if ((before & grace_period_awaited) != 0) wake_those_who_wait(d);
}

void run(domain& d, thread_record* me, bool begun, urgency how) noexcept {
  if (!begun) begin(d, me);
  reach_consensus_for(d, me, how == urgency::normal);
  await_sections(d);
  end_grace_period(d);
}

// Waits until another thread stops leading: spins first, since grace periods are short, then
// sleeps.
void await_leader(domain& d, std::uint64_t word) noexcept {
  if (spin_up_to(256, [&] { return d.grace_periods.load(platform::relaxed) != word; })) return;
  if ((word & grace_period_awaited) == 0) {
    const std::uint64_t awaited = word | grace_period_awaited;
    if (!d.grace_periods.compare_exchange_strong(word, awaited, platform::relaxed,
                                                 platform::relaxed)) {
      return;
    }
    word = awaited;
  }
  go_offline();
  platform::futex_wait(platform::futex_of_low_half(d.grace_periods),
                       static_cast<std::uint32_t>(word), ~0U, nullptr);
}

// Returns when the grace period is over.
void lead_or_wait(domain& d, std::uint64_t grace_period, urgency how) noexcept {
  thread_record* const me = my_record_or_null(number_of(d));
  while (!is_over(d, grace_period)) {
    const std::uint64_t word = d.grace_periods.load(platform::relaxed);
    if ((word & grace_period_led) != 0) {
      await_leader(d, word);
    } else if (try_lead(d, word)) {
      run(d, me, (word & grace_period_begun) != 0, how);
    }
  }
}

}  // namespace

// The leader, if there was one, does not exist in the child: a grace period that was in progress
// counts as not begun, and its number is assigned again.
constinit part grace_periods_part{.in_child = [] {
  for_each_domain([](domain& d) {
    d.grace_periods.store(count_of(d.grace_periods.load(platform::relaxed)), platform::relaxed);
    d.waits_for.store(0, platform::relaxed);
  });
}};

std::uint64_t grace_period_from_now(domain& d) noexcept {
  // (W1) Orders the caller's unlinking before this load: a grace period that has not begun by then
  // begins after it, and its leader's (K1) makes the unlinking visible.
  platform::full_fence(letter::W1);
  const std::uint64_t word = d.grace_periods.load(platform::relaxed);
  const bool begun = (word & grace_period_begun) != 0 && !is_mutant(mutant::grace_period_of_past);
  return count_of(word) + (begun ? 2 : 1) * one_grace_period;
}

bool is_over(const domain& d, std::uint64_t grace_period) noexcept {
  // (W5) Pairs with (W3).
  if (!has_reached(d.grace_periods.load(at(letter::W5, platform::acquire)), grace_period)) {
    return false;
  }
  tell_of_sections(d);
  return true;
}

namespace {

// `patience`: how long threads may take to report, in nanoseconds.
bool try_advance_for(domain& d, std::uint64_t grace_period, std::uint64_t patience) noexcept {
  thread_record* const me = my_record_or_null(number_of(d));
  // Two iterations: one for the grace period in progress, one for its successor, which may be
  // needed.
  for (int i = 0; i < 2; ++i) {
    if (is_over(d, grace_period)) return true;
    const std::uint64_t word = d.grace_periods.load(platform::relaxed);
    if (!try_lead(d, word)) return false;
    if ((word & grace_period_begun) == 0) begin(d, me);
    auto& progress = d.progress;
    if (!progress.consensus && progress.version != 0 &&
        !has_been_reported(d, me, progress.version) && nanoseconds_in_progress(d) < patience) {
      stop_leading(d);
      return false;
    }
    if ((word & grace_period_begun) == 0 || !is_mutant(mutant::taken_for_reached)) {
      reach_consensus_for(d, me, false);
    }
    if (!sections_are_over(d)) {
      const std::uint64_t limit = section_limit();
      if (limit != 0 && nanoseconds_in_progress(d) >= limit) tell_of_long_sections(d);
      tell_of_stall(d);
      stop_leading(d);
      return false;
    }
    end_grace_period(d);
  }
  return is_over(d, grace_period);
}

}  // namespace

bool try_advance(domain& d, std::uint64_t grace_period) noexcept {
  return try_advance_for(d, grace_period, patience_for_reports());
}

bool try_advance_by_reports(domain& d, std::uint64_t grace_period) noexcept {
  return try_advance_for(d, grace_period, UINT64_MAX);
}

void await_grace_period(domain& d, std::uint64_t grace_period, urgency how) noexcept {
  if (is_over(d, grace_period)) return;
  if (is_in_section(number_of(d))) {
    diagnose_misuse(misuse::synchronize_inside, number_of(d), __builtin_return_address(0));
  }
  lead_or_wait(d, grace_period, how);
}

void synchronize(domain& d, urgency how) noexcept {
  if (is_in_section(number_of(d))) {
    diagnose_misuse(misuse::synchronize_inside, number_of(d), __builtin_return_address(0));
  }
  if (is_mutant(mutant::no_grace_period)) return;
  // No other thread leads: a grace period that begins now is the one that the caller needs.
  const std::uint64_t word = d.grace_periods.load(platform::relaxed);
  if ((word & grace_period_flags) == 0 && try_lead(d, word)) {
    run(d, my_record_or_null(number_of(d)), false, how);
    tell_of_sections(d);
    return;
  }
  lead_or_wait(d, grace_period_from_now(d), how);
}

}  // namespace readmost::detail
