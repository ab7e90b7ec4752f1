// SPDX-License-Identifier: Apache-2.0
// The relief: a second thread of the library, which looks now and then whether the reclaimer gets
// on. If a deleter takes long while something waits behind it, the relief takes the reclaimer's
// place: the lists, the right to be the executor, and the state of the reclaimer as it is. The
// thread that it replaces finishes its deleter and ends. So one slow deleter does not stop the
// domain; there are never more threads in deleters than the domain permits, and usually one.
//
// There is a relief only while the reclaimer has more to do than the deleter that it runs, and a
// while longer.
#include "rcu/backlog.hpp"
#include "rcu/deleter_run.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// A deleter that is seen at two looks takes long.
constexpr std::uint64_t between_looks_at_reclaimer = 100'000'000;
// Without work for the reclaimer; then the relief ends.
constexpr unsigned most_looks_at_rest = 20;
// Between two attempts to start a thread that the system refuses.
constexpr std::uint64_t between_starts = 10'000'000;

bool is_anything_waiting(const domain& d, const reclamation& r) noexcept {
  return r.done != nullptr || r.current != nullptr || is_anything_queued(d, r);
}

void tell_no_relief(reclamation& r) noexcept {
  r.relief.store(reclamation::no_relief, platform::relaxed);
  platform::futex_wake(platform::futex_of(r.relief), INT32_MAX, ~0U);
}

// False when the relief has to end.
bool sleep_until_next_look(const reclamation& r) noexcept {
  const platform::deadline until = platform::in(between_looks_at_reclaimer);
  platform::futex_wait(platform::futex_of(r.relief), reclamation::relief_watching, ~0U, &until);
  return r.relief.load(platform::relaxed) == reclamation::relief_watching && !is_process_over(r);
}

void run_relief(void* of_domain) noexcept {
  auto& d = *static_cast<domain*>(of_domain);
  reclamation& r = reclamation_of(d);
  change(r.relief, reclamation::relief_starting, reclamation::relief_watching);
  relief_look look;
  unsigned looks_at_rest = 0;
  while (sleep_until_next_look(r)) {
    const relief_look::result found = look(d, r);
    if (found == relief_look::replaced) {
      tell_no_relief(r);
      want_relief(d, r);
      return serve(d, r);
    }
    looks_at_rest = found == relief_look::at_rest ? looks_at_rest + 1 : 0;
    if (looks_at_rest < most_looks_at_rest) continue;
    if (!change(r.relief, reclamation::relief_watching, reclamation::no_relief)) break;
    // The reclaimer, if it has begun a deleter before this look, may have seen that it had a
    // relief.
    if (look(d, r) == relief_look::at_rest ||
        !change(r.relief, reclamation::no_relief, reclamation::relief_watching)) {
      return;
    }
    looks_at_rest = 0;
  }
  tell_no_relief(r);
}

}  // namespace

void start_relief(domain& d, reclamation& r) noexcept {
  if (!runs(r) || has_no_thread(r)) return;
  if (r.most_reclaimers.load(platform::relaxed) < 2) return;
  const std::uint64_t again = r.start_again.load(platform::relaxed);
  if (again != 0 && platform::now() < again) return;
  if (!change(r.relief, reclamation::no_relief, reclamation::relief_starting)) return;
  if (platform::start_thread(run_relief, &d)) return;
  r.start_again.store(platform::now() + between_starts, platform::relaxed);
  tell_no_relief(r);
}

relief_look::result relief_look::operator()(domain& d, reclamation& r) noexcept {
  const closed_gate moving(r.moving);
  const std::int32_t reclaimer = r.reclaimer_identity.load(platform::relaxed);
  deleter_run* innermost = nullptr;
  deleter_run* outermost = nullptr;
  for_each_run(r, [&](deleter_run& run) {
    if (run.is_replaced() || !run.is_of(reclaimer)) return;
    if (innermost == nullptr) innermost = &run;
    outermost = &run;
  });
  if (innermost == nullptr || !r.in_deleter) {
    begun_ = 0;
    return at_rest;
  }
  if (begun_ != r.deleters_begun) {
    begun_ = r.deleters_begun;
    return at_work;
  }
  if (!is_anything_waiting(d, r) || r.ended_inside || is_process_over(r) ||
      number_of_replaced(r) + 1 >= r.most_reclaimers.load(platform::relaxed)) {
    return at_work;
  }
  for_each_run(r, [&](deleter_run& run) {
    if (!run.is_replaced() && run.is_of(reclaimer)) run.replace(&run == outermost);
  });
  r.replaced.store(number_of_replaced(r) + 1, platform::relaxed);
  r.in_deleter = false;
  take_place_of_executor(d);
  take_place_of_reclaimer(d);
  return replaced;
}

void end_relief(reclamation& r) noexcept {
  for (;;) {
    const std::uint32_t state = r.relief.load(platform::relaxed);
    if (state == reclamation::no_relief) return;
    if (state != reclamation::relief_leaving &&
        !change(r.relief, state, reclamation::relief_leaving)) {
      continue;
    }
    platform::futex_wake(platform::futex_of(r.relief), INT32_MAX, ~0U);
    go_offline();
    platform::futex_wait(platform::futex_of(r.relief), reclamation::relief_leaving, ~0U, nullptr);
  }
}

}  // namespace readmost::detail
