// A domain: the threads that reach consensus together, and their version (FCP 3.2, 7.1).
#pragma once

#include <readmost/detail/threads/thread_record.hpp>

namespace readmost::detail {

// 64 records, made together, with an index of those that a round must visit.
struct chunk {
  static constexpr std::size_t capacity = 64;

  alignas(platform::cache_line) platform::atomic<std::uint64_t> present{};  // not offline
  platform::atomic<std::uint64_t> used{};                                   // belong to a thread
  platform::atomic<std::uint64_t> retiring{};  // have retired what nobody has collected
  // Have ever retired anything under hazard pointers.
  platform::atomic<std::uint64_t> hazardous{};
  platform::atomic<chunk*> next{};
  platform::variable<unsigned> domain{};
  thread_record records[capacity]{};
};

// How far a grace period has come.
struct grace_period_progress {
  platform::variable<std::uint64_t> version{};  // to be reported; 0 when nobody was online
  platform::variable<std::uint64_t> begun{};    // nanoseconds; 0: nobody has asked
  // Reached: everybody has seen what the initiator wrote.
  platform::variable<bool> consensus{};
  // Of counted sections, as bits: those found empty since.
  platform::variable<std::uint32_t> empty_phases{};
};

struct domain {
  // Even. Read by every passive read unlock, so nothing else lives on its line.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> version{};

  // Line 2: read by everybody who reports. Writers asleep until a passive reader leaves, and the
  // word they sleep on.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> drain_sleepers{};
  platform::atomic<std::uint32_t> drain_epoch{};

  // Line 3: rounds, for those who run them.
  // What a round cost of late, in nanoseconds.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> round_cost{1000};
  platform::atomic<std::uint64_t> rounds_by_reports{};
  platform::atomic<std::uint64_t> rounds_by_membarrier{};

  // Line 4: membership. Never empty once the domain is in use, never shrinks.
  alignas(platform::cache_line) platform::atomic<chunk*> chunks{};
  platform::atomic<std::uint64_t> locks_met{};

  // Line 5: grace periods of RCU (src/rcu/grace_period.cpp). How many are over, times
  // `one_grace_period`, and flags.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> grace_periods{};
  // Of the one in progress; for who leads it.
  grace_period_progress progress{};
  // Whom it waits for, and since when: for statistics.
  platform::atomic<std::int32_t> waits_for{};
  platform::atomic<std::uint64_t> waits_since{};
  // Of grace periods: those that needed a membarrier, and those that slept over a reader.
  platform::atomic<std::uint64_t> grace_periods_by_membarrier{};
  platform::atomic<std::uint64_t> grace_periods_asleep{};

  // Line 6: read sections of threads that have no record to note them in, by phase.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> counted_sections[2]{};
  platform::atomic<std::uint32_t> counting_phase{};
};

// The first is the process's: every lock is in it that was not made in another (lock_domain.hpp).
extern domain domains[max_domains];
inline constexpr domain& default_domain = domains[0];

// Only for records that belong, or belonged, to a thread.
inline domain& domain_of(const thread_record& record) noexcept {
  return domains[record.home->domain];
}

inline unsigned number_of(const domain& d) noexcept {
  return static_cast<unsigned>(&d - domains);
}

// The number of a domain that nobody uses, which becomes the caller's; 0, the process's, when none
// is left or there is no memory for one.
unsigned take_domain() noexcept;
// Precondition: `number` is from take_domain() and not 0, and nobody uses the domain any more.
void give_back_domain(unsigned number) noexcept;

// --- For the calling thread --------------------------------------------------------------------

// Registers the calling thread in a domain if need be. Null when it is exiting, when a signal
// interrupted its registration, or when there is no memory: it then locks actively.
thread_record* enlist(unsigned domain = 0) noexcept;

// Makes the calling thread able to lock passively. False where that is not to be had now (no
// membarrier, or a round is just taking the record out of the index). Ends in a full fence.
bool come_online(thread_record& me) noexcept;

// For a section of RCU that is published already: brings the record into the index and the section
// to the eyes of rounds, without coming online. False when a round is just taking the record out.
// Ends in a full fence.
bool stay_visible(thread_record& me) noexcept;

// Says that the calling thread will not lock passively until it comes online again; rounds then
// wait for no report of it. What it holds stays held and visible.
void go_offline(thread_record& me) noexcept;

// Tells rounds that the calling thread has seen the present version.
void report(thread_record& me) noexcept;

// The same for a thread that has just opened its outermost read section and read nothing inside:
// that section is newer than the present version, so no round that has begun need wait for it.
void report_new_section(thread_record& me) noexcept;

// The domains in which the calling thread has a record, as bits.
extern READMOST_THREAD_LOCAL std::uint32_t memberships;

// Calls visit(record) for each record of the calling thread.
template <class Visit>
void for_each_own_record(Visit visit) noexcept {
  for (std::uint32_t left = memberships; left != 0; left &= left - 1) {
    visit(my_record(static_cast<unsigned>(__builtin_ctz(left))));
  }
}

// The same in every domain, where there is something to tell.
void report_where_asked() noexcept;

// For threads that spin. Short for those that are in the process's domain only: what is done
// between two looks at a lock tells on those who use it meanwhile.
inline void report_if_asked() noexcept {
  if (memberships != 1 ||
      default_domain.version.load(platform::relaxed) != my_record().seen.load(platform::relaxed)) {
    report_where_asked();
  }
}

// In every domain: for threads that are about to sleep.
inline void go_offline() noexcept {
  for_each_own_record([](thread_record& mine) { go_offline(mine); });
}

// After a read unlock that found a new version: reports, and wakes writers that sleep until a
// passive reader leaves. Does nothing with `unregistered`.
[[gnu::noinline, gnu::cold]] void report_after_unlock(thread_record& me) noexcept;

// Takes care of fork(2) from now on; enlist() does it too. The earlier it is called, the more of
// the program's own fork handlers find their locks as they know them in the child.
void watch_forks() noexcept;

// --- For writers -------------------------------------------------------------------------------

// Brings about that every thread of domain `d` has seen what the caller wrote before (with a
// seq_cst read-modify-write): afterwards no passive read lock that missed it can still succeed, and
// every one that succeeded before is visible in its thread's slots until it is released.
// Bounded: a spin about as long as a membarrier takes, then one membarrier, which concurrent
// callers share. `me`, the caller's record in the domain, may be null.
enum class round_kind : std::uint8_t { none, reports, membarrier };
struct round {
  std::uint64_t version;  // 0 when nobody else was online and no round was needed
  round_kind kind;
  std::uint64_t nanoseconds;  // what it took; 0 as above
};
round reach_consensus(domain& d, thread_record* me) noexcept;

// The same in steps, for those who cannot wait. Begins a round: the version that everybody has to
// report, or 0 when nobody else is online and none is needed.
std::uint64_t begin_round(domain& d, const thread_record* me) noexcept;
// Whether everybody has.
bool has_been_reported(domain& d, const thread_record* me, std::uint64_t version) noexcept;
// Waits for that, or not (`patient`), and covers the rest by a membarrier. Returns what it took.
round_kind end_round(domain& d, thread_record* me, std::uint64_t version, bool patient) noexcept;
// How long a round waits for reports, in nanoseconds: as long as a membarrier took of late.
std::uint64_t patience_for_reports() noexcept;

// How many passive holds of `lock` there are. Threads that reported version `round` (if not 0)
// while holding nothing are passed over.
std::int64_t passive_holds(domain& d, const void* lock, const thread_record* me,
                           std::uint64_t round) noexcept;

// Takes the remaining passive holds of `lock` out of all slots; how many there were. Only when
// their owners cannot be unlocking it: see "a debt" in rwlock.hpp.
std::int64_t erase_passive_holds(domain& d, const void* lock) noexcept;

// Sleep until some passive reader leaves: from the constructor on, every passive unlock wakes.
//   drain_sleep sleep(d);
//   for (;;) { epoch = sleep.epoch(); if (condition) break; sleep.wait(epoch, until); }
class drain_sleep {
 public:
  explicit drain_sleep(domain& d) noexcept;
  ~drain_sleep();
  drain_sleep(const drain_sleep&) = delete;
  drain_sleep& operator=(const drain_sleep&) = delete;

  std::uint32_t epoch() const noexcept;
  platform::wake_reason wait(std::uint32_t epoch, const platform::deadline* until) const noexcept;

 private:
  domain& domain_;
  bool fenced_;
};

// Wakes every drain_sleep in the domain.
void wake_drain_sleepers(domain& d) noexcept;

}  // namespace readmost::detail
