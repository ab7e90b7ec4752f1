// The lock itself, below the std and pthread surfaces: its word, the passive fast paths, and the
// names of the slow ones (src/rwlock.cpp).
//
// A read hold is in one of two places: in a slot of the reader's own record (passive: published by
// a plain store, possible while the lock is biased), or in the count of the lock word (active: an
// ordinary reader-writer lock). A writer first takes the bias away, reaches consensus with the
// domain, and then sees every passive hold there is. (fcp.md 4.1; bravo.md 3)
#pragma once

#include <readmost/domain.hpp>
#include <readmost/mutant.hpp>

namespace readmost {

// Who goes first when readers and a writer wait. Under either a thread that already holds the lock
// for reading may read-lock it again.
enum class preference : std::uint8_t {
  writer,  // a waiting writer keeps new readers out (fcp.md 4.1); readers pass after 1 ms
  reader,  // readers enter until a writer is inside (glibc's default); writers may starve
};

// How one operation is to behave. Two registers: passed by value.
struct rules {
  preference prefers = preference::writer;
  // A read lock by a thread that holds the lock already passes waiting writers.
  bool recursive = true;
  // Find out before the first bias whether another process can reach the lock's memory.
  bool check_mapping = false;
  // Fail rather than wait.
  bool try_only = false;
  // Until when to wait; for ever when null.
  const platform::deadline* until = nullptr;
};

static_assert(sizeof(rules) == 16);

enum class outcome {
  acquired,
  busy,       // try_only
  timed_out,  // until
  overflow,   // more read holds than a lock can count
};

struct rwlock {
  // --- bits of `state` -------------------------------------------------------------------------
  static constexpr std::uint64_t biased = 1;    // passive readers may enter
  static constexpr std::uint64_t writing = 2;   // a writer is inside, or finding out if it may
  static constexpr std::uint64_t draining = 4;  // not biased, but passive holds may remain
  static constexpr std::uint64_t readers_parked = 8;
  static constexpr std::uint64_t writers_parked = 16;
  static constexpr std::uint64_t readers_starve = 32;   // readers pass waiting writers once
  static constexpr std::uint64_t one_writer = 1U << 8;  // bits 8 to 31: writers that wait
  static constexpr std::uint64_t waiting_writers = 0xFFFF'FF00U;
  static constexpr std::uint64_t one_reader = std::uint64_t{1} << 32;  // 32 to 63: active holds
  static constexpr std::int64_t max_readers = (1 << 24) - 1;
  static_assert(sizeof(std::uint64_t) == 8);

  // Active read holds. Negative after somebody released a hold that is recorded as passive in
  // another thread's slot ("a debt"): active and passive holds together are always right.
  static constexpr std::int64_t readers(std::uint64_t state) noexcept {
    return static_cast<std::int64_t>(state) >> 32;
  }

  // --- `grant`: whether the claim of a writer is decided; not_granted whenever the lock is biased
  // or draining ---
  static constexpr std::uint8_t not_granted = 0;
  static constexpr std::uint8_t granted = 1;
  static constexpr std::uint8_t granted_by_revocation = 2;

  // --- bits of `traits` --------------------------------------------------------------------------
  static constexpr std::uint8_t met = 1;             // counted in the statistics
  static constexpr std::uint8_t private_memory = 2;  // checked: no other process can reach it
  static constexpr std::uint8_t never_biased = 4;
  static constexpr std::uint8_t reader_preference = 8;  // for surfaces that have nowhere else

  platform::atomic<std::uint64_t> state{0};
  // What bias would have brought and cost of late, in nanoseconds: see bias.hpp. A hint.
  platform::atomic<std::int32_t> balance{0};
  platform::atomic<std::uint8_t> grant{not_granted};
  platform::atomic<std::uint8_t> traits{0};
  // Counts the writers that have left. Written by the writer alone.
  platform::atomic<std::uint16_t> turn{0};
};
static_assert(sizeof(rwlock) == 16);

// --- Slow paths --------------------------------------------------------------------------------

outcome lock_shared_slow(rwlock& lock, rules how) noexcept;
// Releases one read hold that is not in the caller's home slot; false if the lock has none.
bool unlock_shared_slow(rwlock& lock) noexcept;
outcome lock_exclusive(rwlock& lock, rules how) noexcept;
void unlock_exclusive(rwlock& lock, rules how) noexcept;

// Forgets passive holds that nobody will release any more, for instance because another thread did
// it on behalf of the holder. To be called before a lock's memory is put to another use.
void settle_before_reuse(rwlock& lock) noexcept;

// --- Passive fast paths --------------------------------------------------------------------------

enum class passive_attempt {
  acquired,
  unavailable,  // not biased, or the slot is taken
  published,    // too late: retract_published() has to follow
};

// Takes back what lock_shared_passively() has published, which a writer may have taken for a hold.
[[gnu::noinline]] void retract_published(const rwlock& lock) noexcept;

// Read-locks passively if that is possible at once. No atomic read-modify-write, no fence, no store
// to a line that another thread writes.
inline passive_attempt lock_shared_passively(rwlock& lock) noexcept {
  thread_record& me = *this_thread;
  const std::size_t home = home_slot(&lock);
  auto& slot = me.held[home];
  if (slot.load(platform::relaxed) != 0 ||
      (lock.state.load(platform::relaxed) & rwlock::biased) == 0) [[unlikely]] {
    return passive_attempt::unavailable;
  }
  if (publishes_late()) platform::yield();
  // (A) Publish first, decide afterwards. Pairs with (K) in rwlock.cpp, where the writer takes the
  // bias away first and looks into the slots afterwards. Release, so that a writer whose (L) reads
  // this instead of the (D) before it is behind that section too.
  slot.store(reinterpret_cast<std::uintptr_t>(&lock), platform::release);
  // (B) Light fence: (A) before (C). Made a full one by the heavy fence (H) in consensus.cpp, by
  // the report (E) or by coming online (F), whichever the round relied on.
  platform::light_fence();
  // (C) Pairs with the release of unlock_exclusive (M): what the last writer wrote is visible.
  // The mode is read after (A) as well: a record is taken dormant with a heavy fence, and a reader
  // that published after that fence must find out here, or a later round would not wait for it.
  const bool open = (lock.state.load(platform::acquire) & rwlock::biased) != 0 || publishes_late();
  const bool online = (me.mode.load(platform::relaxed) & participation_mask) ==
                          static_cast<std::uint32_t>(participation::online) ||
                      publishes_late();
  if (!open || !online) [[unlikely]]
    return passive_attempt::published;
  me.reads[home].store(me.reads[home].load(platform::relaxed) + 1, platform::relaxed);
  return passive_attempt::acquired;
}

// The same for those who do not mind a call where the attempt fails.
inline bool try_lock_shared_passive(rwlock& lock) noexcept {
  const passive_attempt attempt = lock_shared_passively(lock);
  if (attempt == passive_attempt::published) retract_published(lock);
  return attempt == passive_attempt::acquired;
}

// Releases the caller's passive hold if it is in its home slot. Touches no memory of the lock: once
// the slot is clear another thread may lock, unlock and free it.
inline bool try_unlock_shared_passive(const rwlock& lock) noexcept {
  thread_record& me = *this_thread;
  auto& slot = me.held[home_slot(&lock)];
  if (slot.load(platform::relaxed) != reinterpret_cast<std::uintptr_t>(&lock) ||
      me.elsewhere.load(platform::relaxed) != 0) [[unlikely]] {
    return false;
  }
  // (D) Pairs with (L) in consensus.cpp: who sees the slot clear sees all that the reader did.
  slot.store(0, platform::release);
  platform::light_fence();
  if (default_domain.version.load(platform::relaxed) != me.seen.load(platform::relaxed))
      [[unlikely]] {
    report_after_unlock();
  }
  return true;
}

// --- Active fast paths ---------------------------------------------------------------------------

// One read in this many goes the slow way, which settles the account (src/bias.hpp) for all.
inline constexpr std::uint64_t active_reads_per_account = 8;

// Read-locks actively if nothing is in the way: one compare-and-swap. Also false for locks that the
// slow path has not met yet.
inline bool try_lock_shared_active(rwlock& lock) noexcept {
  thread_record& me = *this_thread;
  auto& slot = me.held[home_slot(&lock)];
  std::uint64_t state = lock.state.load(platform::relaxed);
  const std::uint64_t reads = me.active_reads.load(platform::relaxed) + 1;
  constexpr std::uint64_t in_the_way = rwlock::biased | rwlock::writing | rwlock::waiting_writers;
  // Acquire pairs with (M). No store before it, which the read-modify-write would have to wait for.
  if ((state & in_the_way) != 0 || rwlock::readers(state) >= rwlock::max_readers ||
      reads % active_reads_per_account == 0 || slot.load(platform::relaxed) != 0 ||
      (lock.traits.load(platform::relaxed) & rwlock::met) == 0 ||
      !lock.state.compare_exchange_strong(state, state + rwlock::one_reader, platform::acquire,
                                          platform::relaxed)) {
    return false;
  }
  slot.store(reinterpret_cast<std::uintptr_t>(&lock) | held_active, platform::relaxed);
  me.active_reads.store(reads, platform::relaxed);
  report_if_asked(me);
  return true;
}

// Releases the caller's active hold if it is noted in its home slot and nobody is to be woken.
inline bool try_unlock_shared_active(rwlock& lock) noexcept {
  thread_record& me = *this_thread;
  auto& slot = me.held[home_slot(&lock)];
  if (slot.load(platform::relaxed) != (reinterpret_cast<std::uintptr_t>(&lock) | held_active) ||
      me.elsewhere.load(platform::relaxed) != 0) {
    return false;
  }
  std::uint64_t state = lock.state.load(platform::relaxed);
  // Release as (P) in rwlock.cpp.
  if (rwlock::readers(state) <= 0 || (state & rwlock::writers_parked) != 0 ||
      !lock.state.compare_exchange_strong(state, state - rwlock::one_reader, platform::release,
                                          platform::relaxed)) {
    return false;
  }
  slot.store(0, platform::relaxed);
  return true;
}

}  // namespace readmost
