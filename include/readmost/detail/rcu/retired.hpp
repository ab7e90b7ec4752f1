// SPDX-License-Identifier: Apache-2.0
// Retired objects: those that were handed over for deferred destruction and wait for their grace
// period (RCU 3.1). src/rcu/reclamation.hpp has the parts of the implementation, rcu.hpp the public
// names.
#pragma once

#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/detail/rcu/read_section.hpp>
#include <utility>

namespace readmost::detail {

struct retired;

// The way to reclaim objects of one kind.
struct retired_kind {
  void (*reclaim)(retired* object) noexcept;
  std::size_t bytes;  // that each gives back, for the limit of the backlog
};

// The part of a retired object, or of a node that points to it, by which it is queued. `kind` is
// null before the object is retired, so that the misuse check notices when it is retired twice; for
// its value afterwards see rcu/retired_queue.hpp.
struct retired {
  platform::variable<retired*> next{};
  platform::variable<const retired_kind*> kind{};  // or a function: see schedule_call()
};

// As the link of an object that may be copied while another thread retires it: a copy takes nothing
// along.
struct uncopied_link : retired {
  uncopied_link() = default;
  uncopied_link(const uncopied_link&) noexcept : retired() {}
  uncopied_link& operator=(const uncopied_link&) noexcept { return *this; }
  ~uncopied_link() = default;
};

// The only member of the bases of retirable objects, so that a user's class inherits no name but
// the standard's. The link comes first: its address is that of the base.
template <class Link, class D>
struct link_and_deleter {
  Link link{};
  [[no_unique_address]] D deleter = D();
};

// Moves the deleter out of an object, which goes with what the deleter does, and calls it. Asks of
// D what the standard does: to be default constructible and move assignable.
template <class T, class D>
void call_deleter(D& of_object, T* object) noexcept {
  D deleter = D();
  deleter = std::move(of_object);
  deleter(object);
}

// What a thread does that retires while the backlog is above its limit.
enum class backlog_policy : std::uint8_t {
  pace,   // waits while objects are reclaimed; once none has been for 0.1 s, goes on
  block,  // waits until the backlog is smaller, however long that takes
  warn,   // goes on; the library says so on stderr
};

// The size of the backlog, over all threads, above which `policy` applies.
struct backlog_limit {
  std::uint64_t objects = 65'536;
  std::uint64_t bytes = 32 * 1024 * 1024;
  backlog_policy policy = backlog_policy::pace;
};

// The longest time, in nanoseconds, that the reclaimer waits for more objects before it begins the
// next grace period, unless told otherwise.
inline constexpr std::uint64_t default_laziness = 10'000'000;

// The threads of the library that run deleters of a domain at a time, at most: unless told
// otherwise. There are several only if a deleter takes long.
inline constexpr std::uint32_t default_reclaimers = 4;

// The thread that reclaims.
enum class reclaiming : std::uint8_t {
  in_background,  // a thread of the library, started by the first retirement
  in_place,       // threads that retire, at intervals, and threads that call barrier()
  on_request,     // threads that call reclaim_over() or barrier()
};

// Queues an object, to be reclaimed after a grace period from now. Never fails. Wait-free unless
// the backlog is above its limit: then it waits as the domain's policy says, but not inside read
// sections of the domain and inside deleters.
[[gnu::noinline]] void schedule(domain& d, retired& object, const retired_kind& kind) noexcept;

// The same, but never waits: false, without any effect, while the backlog is above its limit.
[[gnu::noinline]] bool try_schedule(domain& d, retired& object, const retired_kind& kind) noexcept;

// The same for objects with two words for the library, as in C: the function itself takes the place
// of the kind. `bytes` counts towards the limit of the backlog, rounded up to a power of two
// and no more than retired_queue.hpp says.
using retired_call = void (*)(retired* object);
void schedule_call(domain& d, retired& object, retired_call function, std::size_t bytes) noexcept;
bool try_schedule_call(domain& d, retired& object, retired_call function,
                       std::size_t bytes) noexcept;

// Returns when all objects scheduled before the call have been reclaimed; inside a deleter, all but
// those that are being reclaimed.
[[gnu::noinline]] void barrier(domain& d) noexcept;

// Starts to reclaim the scheduled objects, with a grace period that does not wait for reports.
// Returns without waiting.
void hurry(domain& d) noexcept;

// Reclaims in the calling thread the objects whose grace period is over, without waiting, unless
// another thread reclaims. Returns whether objects are left.
bool reclaim_over(domain& d) noexcept;

void limit_backlog(domain& d, backlog_limit limit) noexcept;
backlog_limit limit_of_backlog(const domain& d) noexcept;

// 0: a grace period begins at once for each object.
void limit_laziness(domain& d, std::uint64_t nanoseconds) noexcept;

// The time after which the library warns of a grace period that waits for a reader; 0: never. For
// all domains.
void warn_of_stalls_after(std::uint64_t nanoseconds) noexcept;

// 1: one deleter runs at a time, however long it takes.
void limit_reclaimers(domain& d, std::uint32_t most) noexcept;

// Precondition: no object has been scheduled in the domain yet.
void reclaim_by(domain& d, reclaiming who) noexcept;

// Reclaims all scheduled objects, and those that their deleters schedule; ends the domain's thread
// and gives the domain back. Precondition: the domain is from take_domain(), and no other thread
// uses it. Inside one of the domain's own deleters the domain is given back after that.
void close_reclamation(domain& d) noexcept;

// Counts of a domain's grace periods and of its reclamation.
struct rcu_statistics {
  std::uint64_t grace_periods;
  std::uint64_t by_membarrier;  // of them: those in which some thread did not report by itself
  std::uint64_t asleep;         // of them: those that slept until a reader left
  std::uint64_t retired;
  std::uint64_t reclaimed;
  std::uint64_t waiting;  // objects that wait for their grace period or their deleter
  std::uint64_t waiting_bytes;
  std::int32_t waits_for;     // the thread whose read section the grace period waits for; 0: none
  std::uint64_t waits_since;  // nanoseconds of CLOCK_MONOTONIC when that grace period began
};
rcu_statistics statistics_of(domain& d) noexcept;

}  // namespace readmost::detail
