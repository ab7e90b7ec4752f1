// SPDX-License-Identifier: Apache-2.0
#include "lock/bias_trial.hpp"

#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// Lock operations in the domain so far.
[[gnu::noinline]] std::uint64_t operations_in(unsigned domain) noexcept {
  std::uint64_t sum = 0;
  for_each_record(domains[domain], [&](const thread_record& record, bool) {
    for (const auto& reads : record.reads) sum += reads.load(platform::relaxed);
    sum += active_reads_of(record) + record.writes.load(platform::relaxed);
  });
  return sum;
}

// Calls use(trial) unless another thread, or what this handler has interrupted, is at it. Acquire
// and release pair with each other; they have no letter, since no revocation takes long in the
// checker.
template <class Use>
void with_trial(unsigned domain, Use use) noexcept {
  bias_trial& trial = bias_trials[domain];
  auto& in_use = trial.in_use;
  if (in_use.load(platform::relaxed) != 0 || in_use.exchange(1, platform::acquire) != 0) return;
  use(trial);
  in_use.store(0, platform::release);
}

}  // namespace

constinit bias_trial bias_trials[max_domains]{};

bool has_trial_chosen_fences(unsigned domain) noexcept {
  auto& fences_end = bias_trials[domain].fences_end;
  const std::uint64_t now = platform::now();
  if (now < fences_end.load(platform::relaxed)) return true;
  with_trial(domain, [&](bias_trial& t) {
    const std::uint64_t ends = fences_end.load(platform::relaxed);
    if (ends != 0 && ends <= now) trial::end_fences(t, now, [&] { return operations_in(domain); });
  });
  return fences_end.load(platform::relaxed) != 0;
}

void note_long_revocation(unsigned domain, std::uint64_t excess) noexcept {
  with_trial(domain, [&](bias_trial& t) {
    trial::note_wait(t, platform::now(), excess, [&] { return operations_in(domain); });
  });
}

namespace {

// The present stretch of either kind is over without a result.
void abandon(bias_trial& t) noexcept {
  clear_where_set(t.in_use);
  clear_where_set(t.fences_end);
  if (t.began != 0) t.began = 0;
}

void begin_in_new_domain(unsigned number) noexcept {
  bias_trial& t = bias_trials[number];
  abandon(t);
  t.factor = 0;
  t.next_trial = 0;
}

void end_in_child() noexcept {
  for (bias_trial& t : bias_trials) abandon(t);
}

}  // namespace

constinit part bias_trial_part{.on_new_domain = begin_in_new_domain, .in_child = end_in_child};

}  // namespace readmost::detail
