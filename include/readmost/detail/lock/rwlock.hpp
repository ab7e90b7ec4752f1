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
//   biased             readers passively, or actively when they are out of slots; a writer claims
//                      the lock first
//   neither            readers actively; a writer by one compare-and-swap if there is no reader
//   writing, no grant  a writer has claimed the lock and checks for other holds; every other thread
//                      waits for a bounded time, until it has the lock or backs out
//   writing, grant     the writer is inside
//   draining           a writer found passive readers inside and backed out; a writer first claims
//                      the lock and reads the slots, but needs no consensus
// Under writer preference a waiting writer is counted in waiting_writers, which keeps the bias and
// new readers away. Under reader preference it leaves no trace but writers_parked: readers come in,
// also passively, so a reader inside may wait for another reader that has yet to arrive (BRAVO's
// Listing 1 hangs there), and a writer that sleeps or is off its CPU delays no reader. Phase-fair
// is writer preference that counts waiting readers too: a writer that leaves gives them their turn,
// in which writers stay out until the last of these readers is in. A reader that starves under
// writer preference takes such a turn. A reader that upgrades is one more waiting writer, the only
// one with `upgrading`; it goes ahead of the others because its own read hold keeps them out.
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
  static constexpr std::uint64_t writing = 2;   // a writer is inside, or has claimed the lock
  static constexpr std::uint64_t draining = 4;  // not biased, but passive holds may remain
  static constexpr std::uint64_t readers_parked = 8;
  static constexpr std::uint64_t writers_parked = 16;
  // Readers pass waiting writers until all of waiting_readers are inside.
  static constexpr std::uint64_t reader_phase = 32;
  static constexpr std::uint64_t upgrading = 64;  // a reader waits to be the only one
  static constexpr std::uint64_t upgrader_parked = 128;
  static constexpr std::uint64_t one_writer = 1U << 8;  // bits 8 to 23: waiting writers
  static constexpr std::uint64_t waiting_writers = 0xFFFFU * one_writer;
  // Bits 24 to 39: waiting readers that will get a turn.
  static constexpr std::uint64_t one_waiting_reader = std::uint64_t{1} << 24;
  static constexpr std::uint64_t waiting_readers = 0xFFFFU * one_waiting_reader;
  static constexpr unsigned readers_shift = 40;  // 40 to 63: active holds
  static constexpr std::uint64_t one_reader = std::uint64_t{1} << readers_shift;
  static constexpr std::int64_t max_readers = (1 << 23) - 1;
  static_assert(sizeof(std::uint64_t) == 8);

  // Active read holds. Negative after a thread released the passive hold of another ("a debt"): the
  // sum of active and passive holds is always right.
  static constexpr std::int64_t readers(std::uint64_t state) noexcept {
    return static_cast<std::int64_t>(state) >> readers_shift;
  }

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
    }
    return state;
  }

  // --- `grant`: whether a writer's claim is decided; not_granted while the lock is biased or
  // draining ---
  static constexpr std::uint8_t not_granted = 0;
  static constexpr std::uint8_t granted = 1;
  static constexpr std::uint8_t granted_by_revocation = 2;

  // --- bits of `traits` --------------------------------------------------------------------------
  static constexpr std::uint8_t met = 1;             // counted in the statistics
  static constexpr std::uint8_t private_memory = 2;  // the kernel says: no other process reaches it
  static constexpr std::uint8_t never_biased = 4;
  // The preference, for surfaces that keep it here.
  static constexpr std::uint8_t reader_preference = 8;
  static constexpr std::uint8_t phase_fair_preference = 16;

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
  // The domain's number; never changes.
  std::uint8_t domain{0};
  std::uint8_t unused{0};
  platform::atomic<std::uint8_t> grant{not_granted};
  platform::atomic<std::uint8_t> traits{0};
  // Counts the writers that have left. Written by the writer alone.
  platform::atomic<std::uint16_t> writer_exits{0};
};
static_assert(sizeof(rwlock) == 16);

// --- Slow paths --------------------------------------------------------------------------------

outcome lock_shared_slow(rwlock& lock, rules how) noexcept;
// Releases one read hold that is not in the caller's home slot; false if the lock has none.
bool unlock_shared_slow(rwlock& lock) noexcept;
outcome lock_exclusive(rwlock& lock, rules how) noexcept;
void unlock_exclusive(rwlock& lock, rules how) noexcept;

// Makes the caller's only read hold a write hold, ahead of all waiting writers. Busy, and the hold
// as it was, if another thread is upgrading already, if the caller holds the lock more than once,
// or, with try_only, if other readers are inside. (FCP 7.2)
outcome upgrade(rwlock& lock, rules how) noexcept;

// Makes the caller's write hold a read hold; no writer gets in between.
void downgrade(rwlock& lock, rules how) noexcept;

// Forgets passive holds that their threads will not release, for instance because another thread
// did it on their behalf. Must be called before a lock's memory is put to another use.
void forget_holds_before_reuse(rwlock& lock) noexcept;

// --- Passive fast paths --------------------------------------------------------------------------

inline std::uintptr_t address(const rwlock& lock) noexcept {
  return reinterpret_cast<std::uintptr_t>(&lock);
}

// The content of a slot while its owner holds the lock, and afterwards. A released slot keeps the
// lock's address, tagged `held_free`, so the next read lock sees at no extra cost whether the slot
// changes hands.
inline std::uintptr_t held_passively(const rwlock& lock) noexcept {
  return address(lock);
}
inline std::uintptr_t held_actively(const rwlock& lock) noexcept {
  return address(lock) | held_active;
}
inline std::uintptr_t held_before(const rwlock& lock) noexcept {
  return address(lock) | held_free;
}

// Whether a fast path may note the caller's next hold in this slot. The slow paths keep the
// statistics per lock.
inline bool is_at_hand(std::uintptr_t held) noexcept {
  return is_free(held) && !lock_statistics_on();
}

enum class passive_attempt {
  acquired,
  unavailable,  // not biased, or the slot is taken
  published,    // too late: retract_published() has to follow
};

// Takes back the hold that lock_shared_passively() has published too late. A writer may have taken
// it for a hold.
[[gnu::noinline]] void retract_published(const rwlock& lock) noexcept;

// Publishes a passive hold of `lock` in `slot`, then checks whether it came in time.
inline bool publish_and_look(const rwlock& lock, const thread_record& me,
                             platform::atomic<std::uintptr_t>& slot) noexcept {
  // (A) Publish first, check afterwards. Pairs with (K) in writers.cpp, where the writer takes the
  // bias away first and reads the slots afterwards. Release: if a writer's (L) reads this store
  // instead of the preceding (D), that section still happens before the writer.
  slot.store(held_passively(lock), at(letter::A, platform::release));
  // (B) Light fence: (A) before (C). The heavy fence (H) in consensus.cpp, a report (E1, E2) or
  // coming online (F) makes it a full one, whichever the round relies on.
  platform::light_fence(letter::B);
  // (C) Pairs with the release of stop_writing (M): the last writer's writes are visible. The mode
  // is read after (A) as well. A round makes a record dormant with a heavy fence; a reader that
  // published after that fence has to notice it here, because later rounds do not wait for it.
  const bool open = (lock.state.load(at(letter::C, platform::acquire)) & rwlock::biased) != 0;
  const bool online = is_online(me) || is_mutant(mutant::online_without_fence) ||
                      is_mutant(mutant::mode_not_rechecked);
  return open && online;
}

#if defined(READMOST_FAULTS)
#include <mutants/passive_readers.hpp>
#endif

// Read-locks passively if that is possible at once: no atomic read-modify-write, no fence, no store
// to a line that another thread writes. `me`: the caller's record in the lock's domain.
inline passive_attempt lock_shared_passively(rwlock& lock, thread_record& me) noexcept {
  const std::size_t home = home_slot(&lock);
  auto& slot = me.held[home];
  if (!is_at_hand(slot.load(platform::relaxed)) ||
      (lock.state.load(platform::relaxed) & rwlock::biased) == 0) [[unlikely]] {
    return passive_attempt::unavailable;
  }
  if (!READMOST_VARIANT(check_before_publish, publish_and_look(lock, me, slot),
                        look_and_publish(lock, me, slot))) [[unlikely]] {
    return passive_attempt::published;
  }
  count_own(me.reads[home]);
  return passive_attempt::acquired;
}

// The same, and takes back a hold that was published too late.
inline bool try_lock_shared_passive(rwlock& lock, thread_record& me) noexcept {
  const passive_attempt attempt = lock_shared_passively(lock, me);
  if (attempt == passive_attempt::published) retract_published(lock);
  return attempt == passive_attempt::acquired;
}

// Clears a slot of the caller that holds `lock` passively, and reports if a round asks for it.
// Touches no memory of the lock: once the slot is clear, another thread may lock, unlock and free
// it.
inline void release_passive_hold(const rwlock& lock, thread_record& me, const domain& d,
                                 platform::atomic<std::uintptr_t>& slot) noexcept {
  // (D) Pairs with (L) in consensus.cpp: a writer that sees the slot clear sees everything that the
  // reader did.
  slot.store(held_before(lock), at(letter::D, platform::release));
  // (D1) Light fence: (D) before the load of the version. A writer that goes to sleep until the
  // hold is released makes it a full one, by (O3) in consensus.cpp.
  platform::light_fence(letter::D1);
  if (d.version.load(platform::relaxed) != me.seen.load(platform::relaxed)) [[unlikely]] {
    report_after_unlock(me);
  }
}

// Releases the caller's passive hold if it is in its home slot.
inline bool try_unlock_shared_passive(const rwlock& lock, thread_record& me,
                                      const domain& d) noexcept {
  auto& slot = me.held[home_slot(&lock)];
  if (slot.load(platform::relaxed) != held_passively(lock) ||
      me.elsewhere.load(platform::relaxed) != 0) [[unlikely]] {
    return false;
  }
  release_passive_hold(lock, me, d, slot);
  return true;
}

// --- Active fast paths ---------------------------------------------------------------------------

inline constexpr std::uint64_t active_reads_per_account = 8;

enum class active_attempt {
  acquired,
  account_due,  // acquired, and update_account() has to follow
  unavailable,
};

// Once in active_reads_per_account reads: credits the account (src/lock/bias.hpp) for all of them
// and biases the lock if that is earned. The caller holds the lock for reading.
[[gnu::noinline]] void update_account(rwlock& lock, rules how) noexcept;

// Read-locks actively, by one compare-and-swap, if nothing is in the way. Unavailable also for
// locks that have not been through a slow path yet. `me`: the caller's record in `d`, the lock's
// domain.
[[gnu::always_inline]] inline active_attempt lock_shared_actively(rwlock& lock, thread_record& me,
                                                                  const domain& d) noexcept {
  const std::size_t home = home_slot(&lock);
  auto& slot = me.held[home];
  std::uint64_t state = lock.state.load(platform::relaxed);
  const std::uint64_t reads = me.active_reads[home].load(platform::relaxed) + 1;
  constexpr std::uint64_t in_the_way = rwlock::biased | rwlock::writing | rwlock::waiting_writers;
  // (J1) Pairs with (M). There is no store before it, which the read-modify-write would wait for.
  if ((state & in_the_way) != 0 || rwlock::readers(state) >= rwlock::max_readers ||
      !is_at_hand(slot.load(platform::relaxed)) ||
      (lock.traits.load(platform::relaxed) & rwlock::met) == 0 ||
      !lock.state.compare_exchange_strong(state, state + rwlock::one_reader,
                                          at(letter::J1, platform::acquire), platform::relaxed)) {
    return active_attempt::unavailable;
  }
  // (A1) Release as (A): a writer may read it instead of the preceding (D).
  slot.store(held_actively(lock), at(letter::A1, platform::release));
  me.active_reads[home].store(reads, platform::relaxed);
  if (d.version.load(platform::relaxed) != me.seen.load(platform::relaxed)) report(me);
  return reads % active_reads_per_account == 0 ? active_attempt::account_due
                                               : active_attempt::acquired;
}

// The same, and settles the account if that is due. `how`: rules, or a function that returns them,
// which is called only then.
template <class How = rules>
[[gnu::always_inline]] inline bool try_lock_shared_active(rwlock& lock, thread_record& me,
                                                          const domain& d, How how) noexcept {
  const active_attempt attempt = lock_shared_actively(lock, me, d);
  if (attempt == active_attempt::account_due) {
    if constexpr (std::is_invocable_v<How>) {
      update_account(lock, how());
    } else {
      update_account(lock, how);
    }
  }
  return attempt != active_attempt::unavailable;
}

// Releases the caller's active hold if it is noted in its home slot and no waiter needs to be
// woken.
[[gnu::always_inline]] inline bool try_unlock_shared_active(rwlock& lock,
                                                            thread_record& me) noexcept {
  auto& slot = me.held[home_slot(&lock)];
  if (slot.load(platform::relaxed) != held_actively(lock) ||
      me.elsewhere.load(platform::relaxed) != 0) {
    return false;
  }
  std::uint64_t state = lock.state.load(platform::relaxed);
  // (P1) Release as (P) in holds.cpp.
  if (rwlock::readers(state) <= 0 ||
      (state & (rwlock::writers_parked | rwlock::upgrader_parked)) != 0 ||
      !lock.state.compare_exchange_strong(state, state - rwlock::one_reader,
                                          at(letter::P1, platform::release), platform::relaxed)) {
    return false;
  }
  // (A2) As (A1).
  slot.store(held_before(lock), at(letter::A2, platform::release));
  return true;
}

}  // namespace readmost::detail
