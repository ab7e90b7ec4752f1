// What has been retired and waits for its grace period (RCU 3.1). See src/rcu/reclamation.cpp
// for how, rcu.hpp for the public names.
#pragma once

#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/detail/rcu/read_section.hpp>

namespace readmost::detail {

struct retired;

// How to reclaim objects of one kind.
struct retired_kind {
  void (*reclaim)(retired* object) noexcept;
  std::size_t bytes;  // what it gives back, for the limit of the backlog
};

// The part of a retired object, or of a node that points to it, by which it is queued. `kind` is
// null before that, which tells who looks for misuse that it is not retired twice.
struct retired {
  platform::variable<retired*> next{};
  platform::variable<const retired_kind*> kind{};  // or a function: see schedule_call()
};

// What may wait, in all threads together, before a thread that retires more has to wait itself.
struct backlog_limit {
  std::uint64_t objects = 65'536;
  std::uint64_t bytes = 32 * 1024 * 1024;
};

// Who reclaims.
enum class reclaiming : std::uint8_t {
  in_background,  // a thread of the library's own, started when something is first retired
  in_place,       // those who retire, every so often, and who call barrier()
};

// Queues an object; reclaimed after a grace period from now. Never fails. Wait-free but where the
// backlog is at its limit: then it waits until it is smaller, 0.1 s at most, and not at all inside
// read sections of the domain and in deleters.
[[gnu::noinline]] void schedule(domain& d, retired& object, const retired_kind& kind) noexcept;

// The same where two words are all there is, as in C: the function itself takes the place of the
// kind. `bytes` is rounded up to a power of two, for the limit of the backlog.
using retired_call = void (*)(retired* object);
void schedule_call(domain& d, retired& object, retired_call function, std::size_t bytes) noexcept;

// Returns when all that was scheduled before the call has been reclaimed. In a deleter: all but
// what is just being reclaimed.
[[gnu::noinline]] void barrier(domain& d) noexcept;

// Starts reclaiming at once what has been scheduled, with a grace period that does not wait for
// reports; returns without waiting.
void hurry(domain& d) noexcept;

void limit_backlog(domain& d, backlog_limit limit) noexcept;

// Only before the first schedule() in the domain.
void reclaim_by(domain& d, reclaiming who) noexcept;

// Reclaims all that is scheduled and ends the domain's thread. Precondition: nobody uses the
// domain.
void close_reclamation(domain& d) noexcept;

// What a domain's grace periods and reclamation have done and have to do.
struct rcu_statistics {
  std::uint64_t grace_periods;
  std::uint64_t by_membarrier;  // of them: some thread did not report by itself
  std::uint64_t asleep;         // of them: slept until a reader left
  std::uint64_t retired;
  std::uint64_t reclaimed;
  std::uint64_t waiting;  // objects that wait for their grace period or their deleter
  std::uint64_t waiting_bytes;
  std::int32_t waits_for;     // the thread whose read section the grace period waits for; 0: none
  std::uint64_t waits_since;  // nanoseconds of CLOCK_MONOTONIC when that grace period began
};
rcu_statistics statistics_of(domain& d) noexcept;

}  // namespace readmost::detail
