// SPDX-License-Identifier: Apache-2.0
// readmost_rcu.h over readmost::rcu_domain.
#include <readmost_rcu.h>

#include <cerrno>
#include <cstddef>
#include <readmost/rcu.hpp>

#include "c_api/rcu_domain.hpp"
#include "rcu/misuse.hpp"

// Programs know only its address, which tells its number: see places.
struct readmost_rcu_domain {
  char nothing;
};

namespace readmost::detail {

namespace {

static_assert(sizeof(readmost_rcu_head) == sizeof(retired));
static_assert(alignof(readmost_rcu_head) == alignof(retired));
static_assert(offsetof(readmost_rcu_head, readmost_next) == offsetof(retired, next));
static_assert(offsetof(readmost_rcu_head, readmost_how) == offsetof(retired, kind));
static_assert(sizeof(readmost_rcu_statistics_t) == 16 * sizeof(std::uint64_t));
static_assert(READMOST_RCU_IN_BACKGROUND == static_cast<int>(reclaiming::in_background));
static_assert(READMOST_RCU_IN_PLACE == static_cast<int>(reclaiming::in_place));
static_assert(READMOST_RCU_ON_REQUEST == static_cast<int>(reclaiming::on_request));

static_assert(READMOST_RCU_PACE == static_cast<int>(backlog_policy::pace));
static_assert(READMOST_RCU_BLOCK == static_cast<int>(backlog_policy::block));
static_assert(READMOST_RCU_WARN == static_cast<int>(backlog_policy::warn));

// The library has a copy of the default domain too. Compilers that cannot mark an object as unique
// in a process rely on it: because a library exports the name, linkers also export a program's
// copy.
[[gnu::used]] constexpr const rcu_domain* exported_domain = &the_process_domain;

// The place of a domain is its number.
constinit readmost_rcu_domain places[max_domains] = {};

unsigned number_of(const readmost_rcu_domain* domain) noexcept {
  return domain != nullptr ? static_cast<unsigned>(domain - places) : 0;
}

// Whether the caller would wait for itself. The program gets the result as an error; if misuse is
// checked, the library also writes a report.
bool would_deadlock(const readmost_rcu_domain* domain, misuse what, const void* caller) noexcept {
  if (!is_in_section(number_of(domain))) return false;
  if (checks_misuse()) diagnose_misuse(what, number_of(domain), caller);
  return true;
}

int synchronize_unless_inside(const readmost_rcu_domain* domain, urgency how,
                              const void* caller) noexcept {
  if (would_deadlock(domain, misuse::synchronize_inside, caller)) return EDEADLK;
  synchronize(core_of(domain), how);
  return 0;
}

}  // namespace

domain& core_of(const readmost_rcu_domain* domain) noexcept {
  return domains[number_of(domain)];
}

}  // namespace readmost::detail

using namespace readmost;
using namespace readmost::detail;

extern "C" {

// --- Read sections -------------------------------------------------------------------------------

void readmost_rcu_read_lock(readmost_rcu_domain_t* domain) noexcept {
  const unsigned number = number_of(domain);
  enter_section(my_record(number), number);
}

void readmost_rcu_read_unlock(readmost_rcu_domain_t* domain) noexcept {
  const unsigned number = number_of(domain);
  leave_section(my_record(number), number);
}

int readmost_rcu_read_ongoing(readmost_rcu_domain_t* domain) noexcept {
  return is_in_section(number_of(domain)) ? 1 : 0;
}

// --- Grace periods -------------------------------------------------------------------------------

int readmost_rcu_synchronize(readmost_rcu_domain_t* domain) noexcept {
  return synchronize_unless_inside(domain, urgency::normal, __builtin_return_address(0));
}

int readmost_rcu_synchronize_expedited(readmost_rcu_domain_t* domain) noexcept {
  return synchronize_unless_inside(domain, urgency::hurry, __builtin_return_address(0));
}

readmost_rcu_ticket_t readmost_rcu_start_poll(readmost_rcu_domain_t* domain) noexcept {
  const std::uint64_t grace_period = grace_period_from_now(core_of(domain));
  try_advance(core_of(domain), grace_period);
  return {grace_period};
}

int readmost_rcu_poll(readmost_rcu_domain_t* domain, readmost_rcu_ticket_t ticket) noexcept {
  return try_advance(core_of(domain), ticket.readmost_grace_period) ? 1 : 0;
}

int readmost_rcu_cond_synchronize(readmost_rcu_domain_t* domain,
                                  readmost_rcu_ticket_t ticket) noexcept {
  if (is_over(core_of(domain), ticket.readmost_grace_period)) return 0;
  if (would_deadlock(domain, misuse::synchronize_inside, __builtin_return_address(0))) {
    return EDEADLK;
  }
  await_grace_period(core_of(domain), ticket.readmost_grace_period, urgency::normal);
  return 0;
}

// --- Reclaiming ----------------------------------------------------------------------------------

int readmost_rcu_call(readmost_rcu_domain_t* domain, readmost_rcu_head* head,
                      readmost_rcu_function_t* function, std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  schedule_call(core_of(domain), *reinterpret_cast<retired*>(head),
                reinterpret_cast<retired_call>(function), bytes);
  return 0;
}

int readmost_rcu_try_call(readmost_rcu_domain_t* domain, readmost_rcu_head* head,
                          readmost_rcu_function_t* function, std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  const bool done = try_schedule_call(core_of(domain), *reinterpret_cast<retired*>(head),
                                      reinterpret_cast<retired_call>(function), bytes);
  return done ? 0 : EAGAIN;
}

int readmost_rcu_barrier(readmost_rcu_domain_t* domain) noexcept {
  if (would_deadlock(domain, misuse::barrier_inside, __builtin_return_address(0))) return EDEADLK;
  barrier(core_of(domain));
  return 0;
}

void readmost_rcu_hurry(readmost_rcu_domain_t* domain) noexcept {
  hurry(core_of(domain));
}

void readmost_rcu_limit_backlog(readmost_rcu_domain_t* domain, std::uint64_t objects,
                                std::uint64_t bytes) noexcept {
  limit_backlog(core_of(domain), {objects, bytes, limit_of_backlog(core_of(domain)).policy});
}

int readmost_rcu_backlog_policy(readmost_rcu_domain_t* domain, int policy) noexcept {
  if (policy != READMOST_RCU_PACE && policy != READMOST_RCU_BLOCK && policy != READMOST_RCU_WARN) {
    return EINVAL;
  }
  backlog_limit limit = limit_of_backlog(core_of(domain));
  limit.policy = static_cast<backlog_policy>(policy);
  limit_backlog(core_of(domain), limit);
  return 0;
}

void readmost_rcu_limit_laziness(readmost_rcu_domain_t* domain,
                                 std::uint64_t microseconds) noexcept {
  constexpr std::uint64_t most = UINT64_MAX / 1000;
  limit_laziness(core_of(domain), (microseconds < most ? microseconds : most) * 1000);
}

void readmost_rcu_limit_reclaimers(readmost_rcu_domain_t* domain, unsigned most) noexcept {
  limit_reclaimers(core_of(domain), most);
}

void readmost_rcu_warn_of_stalls_after(std::uint64_t milliseconds) noexcept {
  constexpr std::uint64_t most = UINT64_MAX / 1'000'000 - 1;
  warn_of_stalls_after((milliseconds < most ? milliseconds : most) * 1'000'000);
}

int readmost_rcu_reclaim_by(readmost_rcu_domain_t* domain, int who) noexcept {
  if (who != READMOST_RCU_IN_BACKGROUND && who != READMOST_RCU_IN_PLACE &&
      who != READMOST_RCU_ON_REQUEST) {
    return EINVAL;
  }
  reclaim_by(core_of(domain), static_cast<reclaiming>(who));
  return 0;
}

int readmost_rcu_reclaim(readmost_rcu_domain_t* domain) noexcept {
  return reclaim_over(core_of(domain)) ? 1 : 0;
}

// --- Domains -------------------------------------------------------------------------------------

int readmost_rcu_domain_create(readmost_rcu_domain_t** domain) noexcept {
  const unsigned number = take_domain();
  if (number == 0) return EAGAIN;
  *domain = &places[number];
  return 0;
}

int readmost_rcu_domain_destroy(readmost_rcu_domain_t* domain) noexcept {
  if (domain == nullptr) return EINVAL;
  if (would_deadlock(domain, misuse::barrier_inside, __builtin_return_address(0))) return EDEADLK;
  close_reclamation(core_of(domain));
  return 0;
}

// --- Statistics ----------------------------------------------------------------------------------

void readmost_rcu_statistics(readmost_rcu_domain_t* domain,
                             readmost_rcu_statistics_t* figures) noexcept {
  const rcu_statistics now = statistics_of(core_of(domain));
  *figures = {};
  figures->grace_periods = now.grace_periods;
  figures->by_membarrier = now.by_membarrier;
  figures->asleep = now.asleep;
  figures->retired = now.retired;
  figures->reclaimed = now.reclaimed;
  figures->waiting = now.waiting;
  figures->waiting_bytes = now.waiting_bytes;
  figures->waits_for = now.waits_for;
  figures->waits_since = now.waits_since;
}
}
