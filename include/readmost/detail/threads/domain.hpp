// SPDX-License-Identifier: Apache-2.0
// A domain: the threads that reach consensus together, and their version (FCP 3.2, 7.1).
#pragma once

#include <readmost/detail/threads/thread_record.hpp>

namespace readmost::detail {

// A chunk of records, and which of them a round has to visit.
struct index_entry {
  // A bit for each record that is not offline.
  platform::atomic<std::uint64_t> present{};
  platform::atomic<chunk*> records{};  // null behind a domain's last chunk
};

// The index of a domain is a list of blocks. It lies apart from the records, because every round
// reads all of it, also what bursts of threads have left.
struct index_block {
  static constexpr std::size_t capacity = 63;

  alignas(platform::cache_line) index_entry entries[capacity]{};
  platform::atomic<index_block*> next{};
};

// Which threads of a chunk have reported while they held nothing, as one of them has found it: see
// src/threads/chunk_report.hpp.
struct chunk_report {
  static constexpr std::size_t records_in_word = 16;
  static constexpr std::size_t words = 4;

  // Half a version, and below it a bit for each record that has reported that one or a later one.
  platform::atomic<std::uint64_t> settled[words]{};
};

// 64 records.
struct chunk {
  static constexpr std::size_t capacity = 64;

  // A bit for each record: those that belong to a thread; that have retired objects which the
  // reclaimer has not collected; that have ever retired objects under hazard pointers.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> used{};
  platform::atomic<std::uint64_t> retiring{};
  platform::atomic<std::uint64_t> hazardous{};
  platform::variable<unsigned> domain{};
  // Whether one of many threads may report for all. Set before the chunk is in the index.
  platform::variable<bool> reports_as_one{};
  alignas(platform::cache_line) chunk_report report{};
  thread_record records[capacity]{};
  // The block that begins with this chunk, if there is one.
  index_block block{};
};

// State of the grace period in progress; accessed only by its leader.
struct grace_period_progress {
  platform::variable<std::uint64_t> version{};  // to be reported; 0 if no other thread was online
  platform::variable<std::uint64_t> begun{};    // nanoseconds; 0: not needed yet
  platform::variable<bool> told_of_stall{};     // the library has warned of its age
  // Whether every thread has seen the unlinking.
  platform::variable<bool> consensus{};
  // The phases of counted sections that have been found empty since, as bits.
  platform::variable<std::uint32_t> empty_phases{};
};

// Where writers of some locks sleep until a passive reader leaves: how many do, and the word they
// sleep on.
struct drain_place {
  platform::atomic<std::uint32_t> sleepers{};
  platform::atomic<std::uint32_t> epoch{};
};

struct domain {
  // Even. Every passive read unlock reads it, so nothing else shares its line.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> version{};

  // Line 2: read by every thread that reports. The first place is for grace periods, the others are
  // for locks, by address.
  static constexpr std::size_t drain_places = 8;
  alignas(platform::cache_line) drain_place drains[drain_places]{};
  drain_place& drain_place_of(const void* lock) noexcept {
    return drains[lock == nullptr ? 0 : 1 + (scattered(lock) >> 32) % (drain_places - 1)];
  }

  // Line 3: used by threads that run rounds.
  // Nanoseconds that recent rounds took.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> round_cost{1000};
  platform::atomic<std::uint64_t> rounds_by_reports{};
  platform::atomic<std::uint64_t> rounds_by_membarrier{};

  // Line 4: membership. The index is not empty once the domain is in use, and never shrinks.
  alignas(platform::cache_line) platform::atomic<index_block*> index{};
  platform::atomic<std::uint64_t> locks_met{};  // besides those that records count

  // Line 5: grace periods of RCU (src/rcu/grace_period.cpp): how many are over, times
  // `one_grace_period`, plus flags.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> grace_periods{};
  grace_period_progress progress{};
  // The thread it waits for, and since when, for statistics.
  platform::atomic<std::int32_t> waits_for{};
  platform::atomic<std::uint64_t> waits_since{};
  // Grace periods that needed a membarrier, and that slept until a reader left.
  platform::atomic<std::uint64_t> grace_periods_by_membarrier{};
  platform::atomic<std::uint64_t> grace_periods_asleep{};

  // Line 6: read sections of threads without a usable record, by phase.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> counted_sections[2]{};
  platform::atomic<std::uint32_t> counting_phase{};
};

// The first is the process's, for every lock that was not made in another domain (lock_domain.hpp).
extern domain domains[max_domains];
inline constexpr domain& default_domain = domains[0];

// The next five only for records that belong, or belonged, to a thread.
inline index_entry& entry_of(const thread_record& record) noexcept {
  return *static_cast<index_entry*>(record.in_index);
}

inline chunk& chunk_of(const thread_record& record) noexcept {
  return *static_cast<chunk*>(record.in_chunk);
}

// In its chunk.
inline std::uint32_t number_of(const thread_record& record) noexcept {
  return static_cast<std::uint32_t>(&record - chunk_of(record).records);
}

inline domain& domain_of(const thread_record& record) noexcept {
  return domains[chunk_of(record).domain];
}

// Among all records of the domain. For the calling thread's record.
inline std::uint64_t number_in_domain(const thread_record& me) noexcept {
  std::uint64_t before = 0;
  const index_block* block = domain_of(me).index.load(platform::relaxed);
  for (;;) {
    const auto place = static_cast<std::size_t>(&entry_of(me) - block->entries);
    if (place < index_block::capacity) {
      return (before + place) * chunk::capacity + number_of(me);
    }
    before += index_block::capacity;
    // The thread has followed the link before, when it took its record.
    block = block->next.load(platform::relaxed);
  }
}

inline unsigned number_of(const domain& d) noexcept {
  return static_cast<unsigned>(&d - domains);
}

// Takes a free domain and returns its number; 0, the process's, if none is left or memory is short.
unsigned take_domain() noexcept;
// Precondition: `number` is from take_domain() and not 0, and the domain is no longer in use.
void give_back_domain(unsigned number) noexcept;

// --- For the calling thread --------------------------------------------------------------------

// Registers the calling thread in a domain, unless it is registered; returns its record. Null if
// the thread is exiting, if a signal interrupted its registration, or if memory is short: the
// thread then locks actively.
thread_record* enlist(unsigned domain = 0) noexcept;

// Makes the calling thread able to lock passively; ends in a full fence. False if it cannot be now:
// without membarrier, or while a round takes the record out of the index.
bool come_online(thread_record& me) noexcept;

// For a section of RCU, or a fenced hold, that is published already: makes it and the record
// visible to rounds without coming online; ends in a full fence. False while a round takes the
// record out of the index.
bool stay_visible(thread_record& me) noexcept;

// The calling thread will not lock passively until it comes online again, so rounds do not wait for
// its report. It keeps its holds, which stay visible.
void go_offline(thread_record& me) noexcept;

// The same before a long sleep: takes the record out of the index at once, unless it holds
// something, so that rounds need not find out that it is idle. To come online again then takes an
// update of a line that all threads share.
void leave_index(thread_record& me) noexcept;

// Reports a quiescent state: tells rounds that the calling thread has seen the present version, and
// whether it holds anything.
void report(thread_record& me) noexcept;

// The same for a thread that has just entered its outermost read section and read nothing inside
// yet. That section is newer than the present version, so no round that has begun needs to wait for
// it.
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

// Reports in every domain whose version the calling thread has not reported yet.
void report_where_asked() noexcept;

// For threads that spin. Short for a thread in the process's domain only, because a spin loop that
// checks late delays the lock's next owner.
inline void report_if_asked() noexcept {
  if (memberships != 1 ||
      default_domain.version.load(platform::relaxed) != my_record().seen.load(platform::relaxed)) {
    report_where_asked();
  }
}

// Goes offline in every domain: for threads that are about to sleep.
inline void go_offline() noexcept {
  for_each_own_record([](thread_record& mine) { go_offline(mine); });
}

// After a release that found a new version: reports, and wakes threads that sleep until a passive
// reader of that lock, or a read section (null), ends. Does nothing for `unregistered`.
[[gnu::noinline, gnu::cold]] void report_after_release(thread_record& me,
                                                       const void* lock) noexcept;

// Handles fork(2) from now on; enlist() calls it too. The earlier it is called, the more of the
// program's own fork handlers find their locks in order in the child.
void watch_forks() noexcept;

// --- For writers -------------------------------------------------------------------------------

// Makes the caller's preceding seq_cst read-modify-write visible to every thread of domain `d`.
// Afterwards no passive read lock that missed it can succeed, and every one that succeeded before
// is visible in its thread's slots until it is released. Cost: spins for about as long as a
// membarrier takes, then at most one membarrier, which concurrent callers share. `me`, the caller's
// record in the domain, may be null.
enum class round_kind : std::uint8_t { none, reports, membarrier };
struct round {
  std::uint64_t version;  // 0 if no other thread was online, so that no round was needed
  round_kind kind;
  std::uint64_t nanoseconds;  // how long the round took; 0 without one
  // Whether others may hold locks passively: a round was needed, or their holds are fenced.
  bool among_others = false;
};
round reach_consensus(domain& d, thread_record* me) noexcept;

// The same for a lock all of whose passive holds are fenced: no thread has to report.
round round_without_reports(domain& d, thread_record* me) noexcept;

// The same in steps, for callers that cannot wait. Begins a round: returns the version that all
// threads have to report, or 0 if no other thread is online and no round is needed.
std::uint64_t begin_round(domain& d, const thread_record* me) noexcept;
// Whether all threads have reported it.
bool has_been_reported(domain& d, const thread_record* me, std::uint64_t version) noexcept;
// Ends the round: waits for reports if `patient`, then runs a membarrier for the threads that have
// not reported. Returns which of the two it took.
round_kind end_round(domain& d, thread_record* me, std::uint64_t version, bool patient) noexcept;
// How long a round waits for reports, in nanoseconds: as long as a membarrier took of late.
std::uint64_t patience_for_reports() noexcept;

// The number of passive holds of `lock`. Skips threads that reported version `round` (if not 0)
// while holding nothing.
std::int64_t passive_holds(domain& d, const void* lock, const thread_record* me,
                           std::uint64_t round) noexcept;

// Clears the passive holds of `lock` in all slots, and what moves of such holds have left there.
// Precondition: their owners will not release them.
void erase_passive_holds(domain& d, const void* lock) noexcept;

// From the return on, a thread that clears a slot finds a new version and reports, until it has
// cleared all of its slots. The caller sees the slots that were cleared before. Cost: a membarrier.
void make_releases_report(domain& d) noexcept;

// Sleeps until a passive reader of `lock` leaves or, without a lock, a read section ends: from the
// constructor on, each of them wakes it. So do those of some other locks.
//   drain_sleep sleep(d, lock);
//   for (;;) { epoch = sleep.epoch(); if (condition) break; sleep.wait(epoch, until); }
class drain_sleep {
 public:
  drain_sleep(domain& d, const void* lock) noexcept;
  ~drain_sleep();
  drain_sleep(const drain_sleep&) = delete;
  drain_sleep& operator=(const drain_sleep&) = delete;

  std::uint32_t epoch() const noexcept;
  platform::wake_reason wait(std::uint32_t epoch, const platform::deadline* until) const noexcept;

 private:
  drain_place& place_;
  bool fenced_;
};

// Wakes every drain_sleep for the lock, or for read sections; or every one in the domain.
void wake_drain_sleepers(domain& d, const void* lock) noexcept;
void wake_all_drain_sleepers(domain& d) noexcept;

}  // namespace readmost::detail
