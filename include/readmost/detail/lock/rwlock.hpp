// SPDX-License-Identifier: Apache-2.0
// The lock itself, below the C++, C and pthread surfaces: its 16 bytes, the passive and active fast
// paths, and the declarations of the slow ones (src/lock/readers.cpp, writers.cpp, holds.cpp).
//
// A read hold is in one of two places. A passive hold is in a slot of the reader's own record,
// where a plain store publishes it; that is possible while the lock is biased. An active hold is
// counted in the lock's state, as in an ordinary reader-writer lock. A writer first takes the bias
// away, then reaches consensus with the domain, and then sees every existing passive hold. (FCP
// 4.1; BRAVO 3)
//
// States, and the threads that may enter:
//   biased      readers passively, or actively when they are out of slots; a writer claims the lock
//               first
//   neither     readers actively; a writer by one compare-and-swap if there is no reader
//   claiming    a writer checks for other holds. Readers that only try, or hold the lock already,
//               enter actively: the writer finds them in the count when it decides. Other threads
//               wait for the decision, which takes a bounded time
//   writing     the writer is inside
//   draining    a writer found passive readers inside and backed out; a writer first claims the
//               lock and reads the slots, but needs no consensus
// Under writer preference a waiting writer is counted in waiting_writers, which keeps the bias and
// new readers away. Under reader preference it is not counted: readers come in, also passively, so
// a reader inside may wait for another reader that has yet to arrive (BRAVO's Listing 1 hangs
// there). Phase-fair is writer preference that counts waiting readers too: a writer that leaves
// gives them their turn, in which writers stay out until the last of these readers is in. A reader
// that upgrades is one more waiting writer, the only one with `upgrading`; it goes ahead of the
// others because its own read hold keeps them out.
//
// Hand-off. A writer that goes to sleep sets `handoff`: once nobody is inside, only writers that
// have slept may enter, whatever the preference; such a writer clears it when it enters. A reader
// that was woken and finds the lock taken again counts itself in waiting_readers: it gets a turn
// when the writer leaves, under writer preference only if no other writer waits then, or once
// writers have passed it over for a millisecond.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/statistics/lock_statistics_on.hpp>
#include <readmost/detail/threads/domain.hpp>
#include <readmost/preference.hpp>
#include <type_traits>

namespace readmost::detail {

// How one operation behaves. Fits two registers, so it is passed by value.
struct rules {
  preference prefers = preference::writer;
  // A read lock by a thread that holds the lock already passes waiting writers.
  bool recursive = true;
  // A thread notes its active holds, which `recursive` needs under preferences other than the
  // readers', and upgrade() to tell whether the caller holds the lock more than once.
  bool noted = true;
  // Ask the kernel before the first bias whether another process can reach the lock's memory.
  bool check_mapping = false;
  // Fail rather than wait.
  bool try_only = false;
  // Wait no longer than this; for ever if null.
  const platform::deadline* until = nullptr;
};

static_assert(sizeof(rules) == 16);

// The same rules without waiting, and with a deadline.
constexpr rules at_once(rules how) noexcept {
  how.try_only = true;
  return how;
}
constexpr rules before(rules how, const platform::deadline& until) noexcept {
  how.until = &until;
  return how;
}

enum class outcome {
  acquired,
  busy,       // under try_only; upgrade: another thread upgrades
  timed_out,  // the deadline has passed
  overflow,   // the lock cannot count one more read hold
};

struct rwlock {
  // --- bits of `state` -------------------------------------------------------------------------
  static constexpr std::uint64_t biased = 1;    // passive readers may enter
  static constexpr std::uint64_t writing = 2;   // a writer is inside
  static constexpr std::uint64_t draining = 4;  // not biased, but passive holds may remain
  static constexpr std::uint64_t readers_parked = 8;
  static constexpr std::uint64_t writers_parked = 16;
  // Readers pass waiting writers until all of waiting_readers are inside.
  static constexpr std::uint64_t reader_phase = 32;
  static constexpr std::uint64_t upgrading = 64;  // a reader waits to be the only one
  static constexpr std::uint64_t upgrader_parked = 128;
  static constexpr std::uint64_t claiming = 1U << 8;  // a writer checks for other holds
  static constexpr std::uint64_t handoff = 1U << 9;   // the next writer is one that has slept
  // Set at the first use unless there are statistics per lock: operations may take fast paths.
  static constexpr std::uint64_t ready = 1U << 10;
  // `biased` while there are statistics per lock: passive readers enter by a path that counts.
  static constexpr std::uint64_t biased_with_statistics = 1U << 11;
  static constexpr std::uint64_t bias_by_consensus = biased | biased_with_statistics;
  static constexpr std::uint64_t revoked = 1U << 12;  // the writer inside may give the bias back
  // Set at the first use: threads do not note their active holds (`noted` in the rules).
  static constexpr std::uint64_t unnoted = 1U << 13;
  // As `biased`, but each passive reader executes a fence, so that a revocation needs no consensus:
  // where membarrier is missing, or waits for CPUs that are not there.
  static constexpr std::uint64_t biased_by_fences = 1U << 14;
  static constexpr std::uint64_t any_bias = bias_by_consensus | biased_by_fences;
  static constexpr std::uint64_t one_writer = 1U << 15;  // bits 15 to 26: waiting writers
  static constexpr std::uint64_t waiting_writers = 0xFFFU * one_writer;
  // Bits 27 to 39: waiting readers that will get a turn.
  static constexpr std::uint64_t one_waiting_reader = std::uint64_t{1} << 27;
  static constexpr std::uint64_t waiting_readers = 0x1FFFU * one_waiting_reader;
  static constexpr unsigned readers_shift = 40;  // 40 to 63: active holds
  static constexpr std::uint64_t one_reader = std::uint64_t{1} << readers_shift;
  // The count has room for as many again that threads move there from slots.
  static constexpr std::uint64_t max_readers = 1U << 23;
  static constexpr std::uint64_t full = max_readers * one_reader;

  // Neither biased nor held, and nobody waits. `noted`: as in the rules.
  static constexpr std::uint64_t free_state(bool noted) noexcept {
    return noted ? ready : ready | unnoted;
  }

  // Active read holds.
  static constexpr std::uint64_t readers(std::uint64_t state) noexcept {
    return state >> readers_shift;
  }
  static constexpr bool is_full(std::uint64_t state) noexcept { return (state & full) != 0; }

  // The state without a waiter that was counted in it.
  static constexpr std::uint64_t without_waiter(std::uint64_t state, waits_as as) noexcept {
    switch (as) {
      case waits_as::writer:
        return state - one_writer;
      case waits_as::reader:
        state -= one_waiting_reader;
        return (state & waiting_readers) == 0 ? state & ~reader_phase : state;
      case waits_as::counted_upgrader:
        state -= one_writer;
        [[fallthrough]];
      case waits_as::upgrader:
        return state & ~(upgrading | upgrader_parked);
      case waits_as::next_writer:
        return state & ~handoff;
    }
    return state;
  }

  // --- bits of `traits` --------------------------------------------------------------------------
  static constexpr std::uint8_t met = 1;             // counted in the statistics
  static constexpr std::uint8_t private_memory = 2;  // the kernel says: no other process reaches it
  static constexpr std::uint8_t never_biased = 4;
  // The preference, for surfaces that keep it here.
  static constexpr std::uint8_t reader_preference = 8;
  static constexpr std::uint8_t phase_fair_preference = 16;
  // Before its first bias, slots are cleared of holds of an earlier lock at this address: that has
  // begun; it is done.
  static constexpr std::uint8_t cleaning = 32;
  static constexpr std::uint8_t clean = 64;

  static constexpr std::uint8_t trait_of(preference prefers) noexcept {
    return prefers == preference::reader       ? reader_preference
           : prefers == preference::phase_fair ? phase_fair_preference
                                               : std::uint8_t{0};
  }

  // The rules of surfaces that keep the preference in the lock.
  rules own_rules() const noexcept {
    const std::uint8_t kept = traits.load(platform::relaxed);
    rules how;
    if ((kept & reader_preference) != 0) how.prefers = preference::reader;
    if ((kept & phase_fair_preference) != 0) how.prefers = preference::phase_fair;
    return how;
  }

  platform::atomic<std::uint64_t> state{0};
  // Nanoseconds that bias saves, or would save, minus its cost in nanoseconds: see bias.hpp. A
  // hint.
  platform::atomic<std::int16_t> balance{0};
  // Of writer_exits, those that `balance` accounts for.
  platform::atomic<std::uint16_t> accounted_exits{0};
  // The domain's number; never changes.
  std::uint8_t domain{0};
  platform::atomic<std::uint8_t> traits{0};
  // Changes with each writer that leaves. Written by the writer alone.
  platform::atomic<std::uint16_t> writer_exits{0};
};
static_assert(sizeof(rwlock) == 16);

inline std::uintptr_t address(const rwlock& lock) noexcept {
  return reinterpret_cast<std::uintptr_t>(&lock);
}

// --- Slow paths --------------------------------------------------------------------------------

outcome lock_shared_slow(rwlock& lock, rules how) noexcept;
// Releases one read hold of any kind; false if the lock has none.
bool unlock_shared_slow(rwlock& lock) noexcept;
outcome lock_exclusive_slow(rwlock& lock, rules how) noexcept;
void unlock_exclusive_slow(rwlock& lock, rules how) noexcept;

// Makes the caller's only read hold a write hold, ahead of all waiting writers. Busy, and the hold
// as it was, if another thread is upgrading already, if the caller holds the lock more than once,
// or, with try_only, if other readers are inside. (FCP 7.2)
outcome upgrade(rwlock& lock, rules how) noexcept;

// Makes the caller's write hold a read hold; no writer gets in between.
void downgrade(rwlock& lock, rules how) noexcept;

// Forgets passive holds that their threads will not release. Must be called before a lock's memory
// is put to another use.
void forget_holds_before_reuse(rwlock& lock) noexcept;

// --- Passive fast paths --------------------------------------------------------------------------

enum class passive_attempt {
  acquired,
  unavailable,  // not biased, or no slot at hand
  published,    // too late, in the home slot or in the first nested one: retract_published() has to
  published_nested,  // follow
};

// Takes back the hold that lock_shared_passively() has published too late. A writer may have taken
// it for a hold.
[[gnu::noinline]] void retract_published(rwlock& lock, passive_attempt attempt) noexcept;

// Publishes a passive hold of `lock` in `slot`.
inline void publish(const rwlock& lock, platform::atomic<std::uintptr_t>& slot) noexcept {
  // (A) Publish first, check afterwards. Pairs with (K) in writers.cpp, where the writer takes the
  // bias away first and reads the slots afterwards. Release: if a writer's (L) reads this store
  // instead of the preceding (D), that section still happens before the writer.
  slot.store(address(lock), at(letter::A, platform::release));
}

// The second half: whether the hold that has been published came in time, that is, whether the lock
// has `bias`.
inline bool came_in_time(const rwlock& lock, const thread_record& me, std::uint64_t bias) noexcept {
  // (B) Light fence: (A) before (C). The heavy fence (H) in consensus.cpp, a report (E1, E2) or
  // coming online (F) makes it a full one, whichever the round relies on.
  platform::light_fence(letter::B);
  // (C) Pairs with the release of unlock_exclusive (M, M1): the last writer's writes are visible.
  // The mode is read after (A) as well. A round makes a record dormant with a heavy fence; a reader
  // that published after that fence has to notice it here, because later rounds do not wait for it.
  const std::uint64_t state = lock.state.load(at(letter::C, platform::acquire));
  std::uint32_t mode = me.mode.load(platform::relaxed);
  if (is_mutant(mutant::online_without_fence) || is_mutant(mutant::mode_not_rechecked)) {
    mode = online_bit;
  }
  if (bias == online_bit) return (state & mode & online_bit) != 0;  // both in one test
  return (state & bias) != 0 && (mode & online_bit) != 0;
}

inline bool publish_and_look(const rwlock& lock, const thread_record& me,
                             platform::atomic<std::uintptr_t>& slot, std::uint64_t bias) noexcept {
  publish(lock, slot);
  return came_in_time(lock, me, bias);
}

// The same in a nested slot. The stack is raised after the slot is filled, so that a signal handler
// in between neither takes the slot for free nor lowers the stack below it; and before the look, so
// that writers do not miss it.
inline bool publish_nested_and_look(const rwlock& lock, thread_record& me, std::uint32_t depth,
                                    std::uint64_t bias) noexcept {
  publish(lock, me.nested_held[depth]);
  platform::signal_fence();
  me.nested.store(depth + 1, platform::relaxed);
  return came_in_time(lock, me, bias);
}

#if defined(READMOST_FAULTS)
#include <mutants/passive_readers.hpp>
#endif

static_assert(rwlock::biased == online_bit);

// Whether the passive path is worth an attempt.
inline bool is_biased(const rwlock& lock) noexcept {
  return (lock.state.load(platform::relaxed) & rwlock::biased) != 0;
}

inline bool is_biased_on_slow_path(const rwlock& lock) noexcept {
  constexpr std::uint64_t by_slow_path = rwlock::any_bias & ~rwlock::biased;
  return (lock.state.load(platform::relaxed) & by_slow_path) != 0;
}

// Read-locks a biased lock passively in its home slot: no atomic read-modify-write, no fence, no
// store to a line that another thread writes. Unavailable if the slot is taken or the caller has
// nested holds. `me`: the caller's record in the lock's domain.
inline passive_attempt lock_shared_at_home(rwlock& lock, thread_record& me,
                                           std::size_t home) noexcept {
  auto& slot = me.held[home];
  if ((slot.load(platform::relaxed) | me.nested.load(platform::relaxed)) != 0) [[unlikely]] {
    return passive_attempt::unavailable;
  }
  if (!READMOST_VARIANT(check_before_publish, publish_and_look(lock, me, slot, rwlock::biased),
                        look_and_publish(lock, me, slot, rwlock::biased))) [[unlikely]] {
    return passive_attempt::published;
  }
  // The index by way of the slot lets one register address both.
  count_own(me.reads[&slot - me.held]);
  return passive_attempt::acquired;
}

// After that was unavailable: the same in the first nested slot. Unavailable if there are nested
// holds, with which lock_shared_nested() can deal.
inline passive_attempt lock_shared_in_first_nested(rwlock& lock, thread_record& me,
                                                   std::size_t home) noexcept {
  auto& first = me.nested_held[0];
  if (me.nested.load(platform::relaxed) != 0 || first.load(platform::relaxed) != 0) {
    return passive_attempt::unavailable;
  }
  if (!publish_nested_and_look(lock, me, 0, rwlock::biased)) [[unlikely]] {
    return passive_attempt::published_nested;
  }
  count_own(me.reads[&me.held[home] - me.held]);
  return passive_attempt::acquired;
}

// In the one or the other.
[[gnu::always_inline]] inline passive_attempt lock_shared_passively(rwlock& lock,
                                                                    thread_record& me) noexcept {
  const std::size_t home = home_slot(&lock);
  const passive_attempt attempt = lock_shared_at_home(lock, me, home);
  return attempt != passive_attempt::unavailable ? attempt
                                                 : lock_shared_in_first_nested(lock, me, home);
}

// Read-locks a biased lock passively in any free slot, also with statistics per lock; false if that
// takes more than a free slot. If the lock is biased_by_fences, or the caller cannot be online, the
// hold is *fenced*: the caller executes a fence in the writer's place. In its home slot that is one
// atomic read-modify-write of a line of its own.
[[gnu::noinline]] bool lock_shared_nested(rwlock& lock, thread_record& me) noexcept;

// After the release of a passive hold that found a new version: reports, wakes writers that sleep
// until a passive reader leaves, and completes a move of the hold (src/lock/moving.cpp). `index`:
// see for_each_slot().
[[gnu::noinline, gnu::cold]] void after_passive_release(const rwlock& lock, thread_record& me,
                                                        std::size_t index) noexcept;

// Clears a slot of the caller that holds a lock passively. True if a round asks for a report, and
// after_passive_release() has to follow. Touches no memory of the lock: once the slot is clear,
// another thread may lock, unlock and free it.
inline bool release_slot(thread_record& me, const domain& d,
                         platform::atomic<std::uintptr_t>& slot) noexcept {
  // (D) Pairs with (L) in consensus.cpp: a writer that sees the slot clear sees everything that the
  // reader did.
  slot.store(0, at(letter::D, platform::release));
  // (D1) Light fence: (D) before the load of the version. A writer that goes to sleep until the
  // hold is released, and a thread that moves it, make it a full one, by (O3) in consensus.cpp.
  platform::light_fence(letter::D1);
  return d.version.load(platform::relaxed) != me.seen.load(platform::relaxed);
}

enum class passive_release {
  done,
  report,         // done, in the home slot or in the first nested one, and after_passive_release()
  report_nested,  // has to follow
  unavailable,
  stacked,  // there are other nested holds: unlock_shared_slow() has to look at them
};

// Releases the caller's passive hold if it is in its home slot; `unregistered` has none.
// `domain_of_lock`: a function, which is called only then. Precondition: the caller has no nested
// holds.
template <class DomainOfLock>
[[gnu::always_inline]] inline passive_release unlock_shared_at_home(
    const rwlock& lock, thread_record& me, DomainOfLock domain_of_lock) noexcept {
  auto& slot = me.held[home_slot(&lock)];
  if (slot.load(platform::relaxed) != address(lock)) [[unlikely]]
    return passive_release::unavailable;
  return release_slot(me, domain_of_lock(), slot) ? passive_release::report : passive_release::done;
}

inline bool has_nested_holds(const thread_record& me) noexcept {
  return me.nested.load(platform::relaxed) != 0;
}

// The same for a hold that is the caller's only nested one.
inline passive_release unlock_shared_in_first_nested(const rwlock& lock, thread_record& me,
                                                     const domain& d) noexcept {
  auto& first = me.nested_held[0];
  if (me.nested.load(platform::relaxed) != 1 || first.load(platform::relaxed) != address(lock)) {
    return passive_release::stacked;
  }
  const bool report = release_slot(me, d, first);
  // (D3) Pairs with (L2): a writer that does not look at the slots above sees them released.
  me.nested.store(0, at(letter::D3, platform::release));
  return report ? passive_release::report_nested : passive_release::done;
}

// Either.
template <class DomainOfLock>
[[gnu::always_inline]] inline passive_release unlock_shared_passively(
    const rwlock& lock, thread_record& me, DomainOfLock domain_of_lock) noexcept {
  if (has_nested_holds(me)) [[unlikely]] {
    return unlock_shared_in_first_nested(lock, me, domain_of_lock());
  }
  return unlock_shared_at_home(lock, me, domain_of_lock);
}

inline std::size_t index_of_release(const rwlock& lock, passive_release how) noexcept {
  return how == passive_release::report ? home_slot(&lock) : home_slots;
}

// --- Active fast paths ---------------------------------------------------------------------------

// The mean number of active reads of a thread from one update_account() to the next; the second if
// the thread is alone, or the bias of the lock that it reads is far from earned.
inline constexpr std::int32_t active_reads_per_account = 48;
inline constexpr std::int32_t active_reads_per_rare_account = 192;

inline bool notes_holds(std::uint64_t state) noexcept {
  return (state & rwlock::unnoted) == 0;
}

enum class active_attempt {
  acquired,
  account_due,  // acquired, and update_account() has to follow
  unavailable,
};

// Once in so many active reads of a thread: credits the account of the lock that it happens to read
// (src/lock/bias.hpp) for all of them, and biases the lock if that is earned. The caller holds the
// lock for reading.
[[gnu::noinline]] void update_account(rwlock& lock, rules how) noexcept;

// Where none of these is set and `ready` is, a reader may enter by one compare-and-swap, if it may
// pass the writers that wait and has no passive hold of the lock, except one that comes too late
// (take_back() deals with that).
inline constexpr std::uint64_t closed_to_active_readers =
    rwlock::any_bias | rwlock::writing | rwlock::claiming | rwlock::draining | rwlock::full;

// Read-locks actively by one compare-and-swap if the state is still `state`. Unavailable also if
// another hold has the first note.
[[gnu::always_inline]] inline active_attempt enter_actively(bool noted, rwlock& lock,
                                                            thread_record& me,
                                                            std::uint64_t state) noexcept {
  auto& note = me.noted[0];
  if (noted) {
    // Noted before it is counted: a signal handler in between must not wait behind a writer that
    // waits for this hold.
    if (note != 0) return active_attempt::unavailable;
    note = address(lock);
  }
  // Behind a locked instruction the load, and a branch that depends on it, would have to wait.
  const bool is_last_before_account = me.until_account.load(platform::relaxed) <= 1;
  // (J1) Pairs with (M). There is no store before it that the read-modify-write would wait for,
  // except the note.
  if (!lock.state.compare_exchange_strong(state, state + rwlock::one_reader,
                                          at(letter::J1, platform::acquire), platform::relaxed)) {
    if (noted) note = 0;
    return active_attempt::unavailable;
  }
  platform::take_one(me.until_account);
  if (is_last_before_account) [[unlikely]]
    return active_attempt::account_due;
  return active_attempt::acquired;
}

// The same if nothing is in the way and no writer waits. Unavailable also for locks that note holds
// if not `Noted`, or the reverse. `me`: the caller's record in the lock's domain.
template <bool Noted>
[[gnu::always_inline]] inline active_attempt lock_shared_actively(rwlock& lock,
                                                                  thread_record& me) noexcept {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  constexpr std::uint64_t in_the_way =
      closed_to_active_readers | rwlock::handoff | rwlock::waiting_writers;
  constexpr std::uint64_t usual = rwlock::ready | (Noted ? 0 : rwlock::unnoted);
  if ((state & (in_the_way | rwlock::ready | rwlock::unnoted)) != usual) {
    return active_attempt::unavailable;
  }
  return enter_actively(Noted, lock, me, state);
}

// Whether the caller's latest hold is an active one, because no passive hold can exist, and none of
// `in_the_way` is set.
[[gnu::always_inline]] inline bool holds_actively(bool noted, const rwlock& lock,
                                                  const thread_record& me, std::uint64_t state,
                                                  std::uint64_t in_the_way) noexcept {
  in_the_way |= rwlock::any_bias | rwlock::draining | rwlock::claiming;
  return (!noted || me.noted[0] == address(lock)) &&
         (state & (in_the_way | rwlock::unnoted)) == (noted ? 0 : rwlock::unnoted) &&
         rwlock::readers(state) != 0;
}

// ... and no waiter needs to be woken when it is released.
[[gnu::always_inline]] inline bool may_unlock_actively(bool noted, const rwlock& lock,
                                                       const thread_record& me,
                                                       std::uint64_t state) noexcept {
  return holds_actively(noted, lock, me, state, rwlock::writers_parked | rwlock::upgrader_parked);
}

// Releases an active hold, of which no waiter needs to hear, if the state is still `state`, or says
// what it is.
[[gnu::always_inline]] inline bool leave_actively(bool noted, rwlock& lock, thread_record& me,
                                                  std::uint64_t& state) noexcept {
  // (P1) Release as (P) in holds.cpp.
  if (!lock.state.compare_exchange_strong(state, state - rwlock::one_reader,
                                          at(letter::P1, platform::release), platform::relaxed)) {
    return false;
  }
  if (noted) me.noted[0] = 0;
  return true;
}

// The same if may_unlock_actively(). First expects that the caller is the only reader inside.
template <bool Noted>
[[gnu::always_inline]] inline bool try_unlock_shared_active(rwlock& lock,
                                                            thread_record& me) noexcept {
  constexpr std::uint64_t usual = rwlock::free_state(Noted) + rwlock::one_reader;
  std::uint64_t state = platform::likely_value(lock.state, usual);
  return may_unlock_actively(Noted, lock, me, state) &&
         (leave_actively(Noted, lock, me, state) ||
          (may_unlock_actively(Noted, lock, me, state) && leave_actively(Noted, lock, me, state)));
}

// --- Fast paths of writers -----------------------------------------------------------------------

enum class write_attempt {
  acquired,
  unrecorded,  // acquired, and record_write() has to follow
  unavailable,
};

// Counts the first write of a thread that has no record yet.
[[gnu::noinline]] void record_write(const rwlock& lock) noexcept;

// The state that a writer is to expect, if it waits when that is wrong. A vain compare-and-swap
// would take the line of a biased lock away from all its readers, so the account has to say that
// the lock has no bias. A thread that only tries loads the state, and leaves the line to the thread
// inside.
template <bool Noted>
[[gnu::always_inline]] inline std::uint64_t likely_free(const rwlock& lock) noexcept {
  return platform::likely_value(lock.state, rwlock::free_state(Noted),
                                [&] { return lock.balance.load(platform::relaxed) <= 0; });
}

// Locks a lock that is free, and neither biased nor draining, nor wanted by a waiting writer.
// `me`: the caller's record in the lock's domain. `state`: what the lock's state is, or is likely
// to be.
[[gnu::always_inline]] inline write_attempt lock_exclusive_fast(rwlock& lock, thread_record& me,
                                                                std::uint64_t state) noexcept {
  if ((state & ~rwlock::unnoted) != rwlock::ready ||
      // (J3) Pairs with (M) and (P).
      !lock.state.compare_exchange_strong(state, state | rwlock::writing,
                                          at(letter::J3, platform::acquire), platform::relaxed)) {
    return write_attempt::unavailable;
  }
  return platform::add_one(me.writes) ? write_attempt::unrecorded : write_attempt::acquired;
}
[[gnu::always_inline]] inline bool try_lock_exclusive_fast(rwlock& lock, thread_record& me,
                                                           std::uint64_t state) noexcept {
  const write_attempt attempt = lock_exclusive_fast(lock, me, state);
  if (attempt == write_attempt::unrecorded) [[unlikely]]
    record_write(lock);
  return attempt != write_attempt::unavailable;
}

// Unlocks if nobody waits and the lock gets no bias.
template <bool Noted>
[[gnu::always_inline]] inline bool try_unlock_exclusive_fast(rwlock& lock) noexcept {
  constexpr std::uint64_t usual = rwlock::free_state(Noted) | rwlock::writing;
  std::uint64_t state = platform::likely_value(lock.state, usual);
  if ((state & ~rwlock::unnoted) != (rwlock::ready | rwlock::writing)) return false;
  platform::add_one(lock.writer_exits);
  // (M1) As (M) in writers.cpp.
  if (lock.state.compare_exchange_strong(state, state & ~rwlock::writing,
                                         at(letter::M1, platform::release), platform::relaxed)) {
    return true;
  }
  platform::take_one(lock.writer_exits);
  return false;
}

}  // namespace readmost::detail
