// SPDX-License-Identifier: Apache-2.0
// Decides whether a lock is biased, by the account that the lock keeps (threads/account.hpp).
//
// BRAVO (section 3) bounds the cost without weighing the benefit: after each revocation it does
// without bias for nine times the revocation's cost, which is too cautious where revocations are
// cheap.
//
// Passive reads leave no trace in the lock. The reader's record counts them by home slot; they are
// credited when that thread next finds the lock's bias revoked, or revokes it itself.
#pragma once

#include <algorithm>
#include <readmost/detail/lock/rwlock.hpp>
#include <readmost/detail/threads/account.hpp>

#include "lock/bias_trial.hpp"
#include "platform/known_cpus.hpp"
#include "threads/registry.hpp"

namespace readmost::detail::bias {

// The nanoseconds that a passive read saves over an active one if a single thread reads, by the
// time of an update (platform::time_of_update()). It saves two updates of a line that the core
// owns, or one if its hold is fenced; its stores and looks take as long as three nanoseconds of
// them.
constexpr std::int32_t saved_alone(std::uint32_t update, bool fenced = false) noexcept {
  constexpr std::int32_t least = 1;
  constexpr std::int32_t most = 12;
  const std::int32_t saved = static_cast<std::int32_t>((fenced ? 1 : 2) * update / 1'000) - 3;
  return saved < least ? least : saved > most ? most : saved;
}

// The same if several threads read, at least: the line comes from another core.
inline constexpr std::int32_t saved_among_others = 20;

// Whether locks of the domain are to be biased_by_fences.
inline bool prefers_fences(unsigned domain) noexcept {
  return !membarrier_works() || are_fences_chosen(domain);
}

inline std::int32_t saved_by_read(bool among_others) noexcept {
  return among_others ? saved_among_others
                      : saved_alone(platform::time_of_update(), is_membarrier_missing());
}

// With more CPUs a read may save more. While many want the lock's line, each read has it come
// twice, to lock and to unlock, and each way takes time in which nobody else gets on. A thread that
// updates the account measures how long the line takes to come, and remembers that for the lock's
// home slot. A longer time than a line takes between distant CPUs was spent in a queue for it, or
// without a CPU. Chosen by simulation: docs/scaling.md.
constexpr std::uint32_t most_saved(unsigned cpus) noexcept {
  constexpr std::uint32_t for_each_cpu = 10;
  constexpr std::uint32_t most = 400;
  const std::uint32_t saved = for_each_cpu * cpus;
  return saved < most ? saved : most;
}

constexpr bool is_to_be_measured(unsigned cpus) noexcept {
  return most_saved(cpus) > static_cast<std::uint32_t>(saved_among_others);
}

// What is remembered after a line took `wait` to come. It falls slowly: a thread that looks so soon
// after its own update may find the line still there, however many wait for it.
constexpr std::uint16_t learnt(std::uint16_t saved, std::uint64_t wait, unsigned cpus) noexcept {
  const std::uint64_t most = most_saved(cpus);
  const std::uint64_t now = 2 * wait < most ? 2 * wait : most;
  return static_cast<std::uint16_t>(now > saved ? now : saved - (saved - now) / 8);
}

// A clock that is a system call, as on some virtual machines, costs more than it tells: the
// measuring ends. A single slow look at it does not end it, since the thread may have lost its CPU.
// Looks that are not slow count as none, so that the average stays 0 and nobody has to write it.
constexpr std::uint32_t slow_clock = 100;
constexpr bool is_slow_clock(std::uint32_t average) noexcept {
  return average > slow_clock;
}
constexpr std::uint32_t average_of_clock(std::uint32_t average, std::uint64_t took) noexcept {
  constexpr std::uint64_t most = 4 * slow_clock;
  const std::uint64_t counted = took <= slow_clock ? 0 : took < most ? took : most;
  return static_cast<std::uint32_t>(moved_towards(average, counted));
}

// While the lock is biased nobody waits for the line. What is remembered fades with each
// revocation: if it was too much, the lock loses its bias in the end, and the wait is measured
// again.
constexpr std::uint16_t faded(std::uint16_t saved) noexcept {
  return static_cast<std::uint16_t>(saved - (saved + 63) / 64);
}

// Many threads may have locks of their own, for instance the parts of a divided table. A bias then
// saves what it saves a thread that is alone, but a revocation still asks all of them. So a thread
// remembers, by home slot, how it left the account of a lock. If it finds it like that again,
// nobody else has read the lock as often as it has in between.
inline std::uint32_t account_note(const rwlock& lock) noexcept {
  const std::uint64_t name = scattered(&lock) >> 48;
  const auto balance = static_cast<std::uint16_t>(lock.balance.load(platform::relaxed));
  return static_cast<std::uint32_t>(name << 16) | balance;
}
inline bool is_used_alone(const rwlock& lock, const thread_record& me) noexcept {
  return me.left_account[home_slot(&lock)] == account_note(lock) &&
         !is_mutant(mutant::own_lock_as_shared);
}
inline void note_account(const rwlock& lock, thread_record& me) noexcept {
  me.left_account[home_slot(&lock)] = account_note(lock);
}

inline std::int32_t saved_by_read(const rwlock& lock, const thread_record& me,
                                  bool among_others) noexcept {
  const std::int32_t least = saved_by_read(among_others);
  const std::uint16_t remembered = me.saved[home_slot(&lock)];
  return among_others && remembered > least ? remembered : least;
}

// What one update of the account credits a lock with at most: where writes have brought the balance
// to its lowest, it takes two without a write between them.
inline constexpr std::int32_t most_credited_by_update = enough_for_bias - lowest - 1'000;

constexpr std::int32_t credited_by_update(std::int32_t reads, std::int32_t saved) noexcept {
  const std::int32_t all = reads * saved;
  return all < most_credited_by_update ? all : most_credited_by_update;
}

// What a thread loses that loses a race for the state, at least: the line has to come again.
inline constexpr std::int32_t cost_of_lost_race = 100;

inline constexpr std::uint32_t least_cost = 300;

inline void add(rwlock& lock, std::int32_t amount) noexcept {
  add(lock.balance, amount);
}

// A reader has found that the state is no longer the one it looked at before its
// read-modify-write, but `changed`. Many readers that get in each other's way need the bias before
// one of them has read often; writers' changes do not count.
inline void credit_lost_race(rwlock& lock, std::uint64_t changed,
                             std::int32_t cost = cost_of_lost_race) noexcept {
  constexpr std::uint64_t by_writers = rwlock::writing | rwlock::claiming | rwlock::handoff |
                                       rwlock::waiting_writers | rwlock::writers_parked;
  if ((changed & by_writers) == 0) add(lock, cost);
}

// The same for a reader that is about to enter. It is credited with what the line is known to take;
// if those that leave were too, locks that are written often would get a bias that does not pay
// (docs/scaling.md). `me` may be null.
inline void credit_lost_read(rwlock& lock, const thread_record* me,
                             std::uint64_t changed) noexcept {
  const std::int32_t remembered = me == nullptr ? 0 : std::int32_t{me->saved[home_slot(&lock)]};
  credit_lost_race(lock, changed, std::max(remembered, cost_of_lost_race));
}

// The thread's passive reads since the last call, which are to be credited now. May be called only
// while the lock's bias is being revoked, or right afterwards: they are then reads of this lock,
// except for those of locks that share the slot.
inline std::uint32_t take_uncredited_reads(const rwlock& lock, thread_record& me) noexcept {
  const std::size_t home = home_slot(&lock);
  const auto reads = static_cast<std::uint32_t>(me.reads[home].load(platform::relaxed));
  const std::uint32_t uncredited = reads - me.credited[home];
  if (uncredited != 0) me.credited[home] = reads;
  return uncredited;
}

inline std::int32_t take_credit(const rwlock& lock, thread_record& me, bool among_others) noexcept {
  const std::uint32_t uncredited = take_uncredited_reads(lock, me);
  if (uncredited == 0) return 0;
  const std::int32_t credit = credited(uncredited, saved_by_read(lock, me, among_others));
  auto& saved = me.saved[home_slot(&lock)];
  saved = faded(saved);
  return credit;
}

inline void credit_passive_reads(rwlock& lock, thread_record& me, bool among_others) noexcept {
  add(lock, take_credit(lock, me, among_others));
}

// The time that the writer waited, and as much again for readers that found the lock closed
// meanwhile. A revocation that waits for no thread only reads the index and the slots.
inline std::int32_t cost_of_revocation(std::uint64_t waited) noexcept {
  constexpr std::int32_t of_a_look = 100;
  if (waited == 0) return of_a_look;
  return cost_of_wait(waited);
}

// Whether a reader that finds the lock closed by a revocation is to credit its passive reads now.
// Whoever does takes the lock's line away from all others, who are about to report to the writer.
// Where there are many, a few do it at each revocation, and the others another time. Looks at one
// chunk of records only.
inline bool is_to_credit(const thread_record& me) noexcept {
  constexpr unsigned at_a_time = 4;
  const unsigned readers = std::min(threads_in(chunk_of(me)), known_cpus());
  if (readers <= at_a_time) return true;
  const std::uint64_t version = domain_of(me).version.load(platform::relaxed);
  const std::uint64_t place = scattered(version + number_of(me)) >> 32;
  return place % readers < at_a_time;
}

// The same for a writer whose thread is alone in the index: two updates of the state more than a
// write of a lock without bias, and these decisions.
inline constexpr std::int32_t cost_of_revocation_alone = 40;

// Debits the lock with such a revocation, and credits it with the passive reads before it.
inline void debit_revocation_alone(rwlock& lock, thread_record& me) noexcept {
  const std::uint32_t reads = take_uncredited_reads(lock, me);
  add(lock, credited(reads, saved_by_read(false)) - cost_of_revocation_alone);
}

// Remembers the cost of a round, as an estimate for writes that need none.
inline void remember_cost(domain& d, std::uint64_t cost) noexcept {
  auto& remembered = d.round_cost;
  const std::uint64_t bounded = cost < 20'000 ? cost : 20'000;
  const std::uint64_t old = remembered.load(platform::relaxed);
  remembered.store(static_cast<std::uint32_t>(moved_towards(old, bounded)), platform::relaxed);
}

// Debits the lock with a revocation by `me`, which may be null, and credits it with the passive
// reads of that thread before it. One update: others want the line of a lock that is closed.
inline void account_for_revocation(rwlock& lock, thread_record* me, const round& done,
                                   bool among_others) noexcept {
  const std::int32_t cost = cost_of_revocation(done.nanoseconds);
  add(lock, me == nullptr ? -cost : take_credit(lock, *me, among_others) - cost);
  if (me != nullptr) note_account(lock, *me);
  if (done.version != 0) remember_cost(domains[lock.domain], done.nanoseconds);
  if (done.nanoseconds > longest_counted_wait) [[unlikely]] {
    note_long_revocation(lock.domain, done.nanoseconds - longest_counted_wait);
  }
}

// For a report, by revocations that there would have been.
enum class asked { others, nobody };

// Debits the lock with the writes since the last call, all but the caller's if `all_but_own`.
// A write that revoked nothing would have paid the recent cost of revocations, or no more than two
// updates if nobody would have been asked, be it because there is no other thread. The recent cost
// ages, so that a single slow period does not keep a lock without bias for ever.
inline void debit_writes(rwlock& lock, asked whom, bool all_but_own = false) noexcept {
  const std::uint16_t exits = lock.writer_exits.load(platform::relaxed);
  const auto writes =
      static_cast<std::uint16_t>(exits - lock.accounted_exits.load(platform::relaxed));
  if (writes == 0) return;
  lock.accounted_exits.store(exits, platform::relaxed);
  domain& d = domains[lock.domain];
  // Where holds are fenced, no round is waited for.
  const std::uint32_t recent = bias_trials[lock.domain].fences_end.load(platform::relaxed) != 0
                                   ? least_cost
                                   : d.round_cost.load(platform::relaxed);
  constexpr std::uint32_t writes_between_ageing = 64;
  if (exits % writes_between_ageing < writes && recent > least_cost) {
    d.round_cost.store(recent - recent / 16, platform::relaxed);
  }
  const std::int32_t debited = all_but_own ? writes - 1 : writes;
  if (debited == 0 || lock.balance.load(platform::relaxed) == lowest) return;
  const bool nobody = whom == asked::nobody || has_one_thread(d);
  add(lock, -debited * (nobody ? cost_of_revocation_alone : cost_of_revocation(recent)));
}

inline std::uint64_t bit_to_give(const rwlock& lock) noexcept {
  return prefers_fences(lock.domain) ? rwlock::biased_by_fences
         : lock_statistics_on()      ? rwlock::biased_with_statistics
                                     : rwlock::biased;
}

inline bool is_earned(const rwlock& lock) noexcept {
  return is_earned(lock.balance);
}

inline bool is_far_from_earned(const rwlock& lock) noexcept {
  return lock.balance.load(platform::relaxed) < lowest / 2;
}

// Whether threads do not outnumber CPUs. Where they do, a passive reader may have lost its CPU, and
// so may the next one: then a writer that had to wait for one does not give the bias back as it
// leaves, and writers wait more cheaply for readers that are counted. Looks at one chunk of records
// only.
inline bool have_cpus(const thread_record* me) noexcept {
  return me != nullptr && threads_in(chunk_of(*me)) <= known_cpus();
}

inline bool is_worth_keeping(const rwlock& lock) noexcept {
  return is_worth_keeping(lock.balance);
}

// Whether this lock may be biased now. Asks the kernel about the lock's memory until it has
// told; if it cannot now, the lock has to earn its bias anew. The caller has written to the lock.
inline bool is_allowed(rwlock& lock, rules how) noexcept {
  const std::uint8_t traits = lock.traits.load(platform::relaxed);
  if ((traits & rwlock::never_biased) != 0) return false;
  if (!how.check_mapping || (traits & rwlock::private_memory) != 0) return true;
  const platform::mapping_kind kind = platform::kind_of_written_memory(&lock);
  if (kind == platform::mapping_kind::not_now) {
    lock.balance.store(lowest, platform::relaxed);
    return false;
  }
  const bool is_private = kind == platform::mapping_kind::private_memory;
  lock.traits.fetch_or(is_private ? rwlock::private_memory : rwlock::never_biased,
                       platform::relaxed);
  return is_private;
}

}  // namespace readmost::detail::bias
