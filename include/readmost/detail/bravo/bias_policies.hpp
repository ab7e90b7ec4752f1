// SPDX-License-Identifier: Apache-2.0
// Policies that decide when a bravo lock is biased towards readers; each is a member of its lock.
//
// Being biased saves something at every read and costs the next writer a revocation. All accesses
// are relaxed and may lose an update to a race: these are hints. A policy has these members:
//
//   counts_reads        readers count the reads through a slot
//   times_next()        whether revoked() is to be told when the next revocation began and ended
//   is_due(who)         whether a slow reader of an unbiased lock sets the bias
//   revoked(who, cost)  a writer has revoked the bias
//   wrote()             a writer found the lock unbiased
//   is_kept()           whether a writer that revoked the bias sets it again when it leaves
#pragma once

#include <readmost/detail/bravo/visible_readers.hpp>
#include <readmost/detail/threads/account.hpp>

namespace readmost::detail {

// The thread that asks a policy, and the lock that it asks for.
struct asker {
  visible_reader* reader;  // null: it has none
  std::uint64_t lock;
  std::size_t eighth;  // of all locks: the one that this lock belongs to
  std::int32_t saved;  // nanoseconds, by a read through a slot
};

// In nanoseconds: times on the clock, 0 if not asked for, and how long the writer waited for
// readers.
struct revocation_cost {
  std::uint64_t began;
  std::uint64_t ended;
  std::uint64_t waited;
};

// The paper's policy: no bias after a revocation for N times as long as that took, so that a writer
// is slowed by 1/(N + 1) at most. Reading the clock costs more than a read lock, so a thread does
// it at one in `Every` slow reads only.
template <std::uint64_t N = 9, std::uint32_t Every = 1>
class inhibited_bias {
 public:
  static constexpr bool counts_reads = false;

  static bool times_next() noexcept { return true; }
  bool is_due(asker who) noexcept {
    if (Every > 1 && (who.reader == nullptr || ++who.reader->slow_reads % Every != 0)) return false;
    const std::uint64_t until = until_.load(platform::relaxed);
    return until == 0 || platform::now() >= until;
  }
  void revoked(asker, revocation_cost cost) noexcept {
    until_.store(cost.ended + (cost.ended - cost.began) * N, platform::relaxed);
  }
  void wrote() noexcept {}
  static bool is_kept() noexcept { return false; }

 private:
  platform::atomic<std::uint64_t> until_{0};
};

// The paper's early prototype: one slow read in `OneOf`, drawn by Marsaglia's xorshift, sets the
// bias.
template <std::uint32_t OneOf = 100>
class drawn_bias {
 public:
  static constexpr bool counts_reads = false;

  static bool times_next() noexcept { return false; }
  static bool is_due(asker who) noexcept {
    visible_reader* const reader = who.reader;
    if (reader == nullptr) return false;
    std::uint32_t drawn = reader->slow_reads != 0 ? reader->slow_reads : reader->mixed_number | 1U;
    drawn ^= drawn << 13;
    drawn ^= drawn >> 17;
    drawn ^= drawn << 5;
    reader->slow_reads = drawn;
    return drawn % OneOf == 0;
  }
  static void revoked(asker, revocation_cost) noexcept {}
  static void wrote() noexcept {}
  static bool is_kept() noexcept { return false; }
};

// Biased whenever possible: for tests, and to measure revocations.
class eager_bias {
 public:
  static constexpr bool counts_reads = false;

  static bool times_next() noexcept { return false; }
  static bool is_due(asker) noexcept { return true; }
  static void revoked(asker, revocation_cost) noexcept {}
  static void wrote() noexcept {}
  static bool is_kept() noexcept { return true; }
};

// By an account (threads/account.hpp). A writer that leaves a lock with a good balance sets the
// bias itself, so that no reader has to earn it anew. The time of a revocation grows with the
// number of cores whose slots the scan has to fetch; reading the clock takes a good part of a short
// one, so one in `revocations_per_timing` is timed.
class weighed_bias {
 public:
  static constexpr bool counts_reads = true;

  bool times_next() noexcept { return revocations_++ % revocations_per_timing == 0; }
  bool is_due(asker who) noexcept {
    visible_reader* const reader = who.reader;
    if (reader == nullptr) return false;
    std::uint32_t& left = reader->until_account[who.eighth];
    const bool accounts = left == 0;
    left = accounts ? reads_per_account - 1 : left - 1;
    const std::uint32_t passed = take_reads(who);
    if (!accounts && passed == 0) return false;
    // When readers alternate, each fetches the line from the one before.
    const auto me = static_cast<std::uint16_t>(reader->number >> number_shift);
    if (last_reader_.load(platform::relaxed) != me) {
      who.saved = who.saved * among_others / alone;
      last_reader_.store(me, platform::relaxed);
    }
    bias::add(balance_,
              static_cast<std::int32_t>(passed + (accounts ? reads_per_account : 0)) * who.saved);
    if (!bias::is_earned(balance_)) return false;
    ever_biased_.store(1, platform::relaxed);
    return true;
  }

  void revoked(asker who, revocation_cost of) noexcept {
    const std::uint64_t before = cost_.load(platform::relaxed);
    std::uint64_t cost = before;
    const std::uint64_t took = of.ended - of.began;
    const std::uint64_t lost = took > of.waited + quick ? took - quick : of.waited;
    if (took != 0 || of.waited != 0) {
      cost = least_cost + static_cast<std::uint64_t>(bias::cost_of_wait(lost));
      cost_.store(static_cast<std::uint16_t>(bias::moved_towards(before, cost)), platform::relaxed);
    }
    const std::uint32_t read = who.reader != nullptr ? take_reads(who) : 0;
    bias::add(balance_,
              static_cast<std::int32_t>(read) * who.saved - static_cast<std::int32_t>(cost));
  }
  // Debits the recent cost of a revocation. That figure ages, because otherwise a single slow
  // period would last for ever.
  void wrote() noexcept {
    const std::uint32_t cost = cost_.load(platform::relaxed);
    if (cost > least_cost) cost_.store(static_cast<std::uint16_t>(cost - 1), platform::relaxed);
    bias::add(balance_, -static_cast<std::int32_t>(cost));
  }
  bool is_kept() const noexcept { return bias::is_worth_keeping(balance_); }

 private:
  // A prime, so that no lock is overlooked when several are read in turn.
  static constexpr std::uint32_t reads_per_account = 7;
  static constexpr std::int32_t alone = 2;
  static constexpr std::int32_t among_others = 5;
  // The cost of a revocation that finds no reader, and whose scan takes no longer than `quick`
  // nanoseconds, in which most slots are in caches nearby.
  static constexpr std::uint32_t least_cost = 150;
  static constexpr std::uint32_t quick = 300;
  static constexpr std::uint8_t revocations_per_timing = 8;

  // The number of reads through slots since the thread last accounted for them. Those of a lock
  // that was never biased were reads of an earlier lock at the same address.
  std::uint32_t take_reads(const asker& who) const noexcept {
    if (who.reader->lock_read[who.eighth] != who.lock) return 0;
    const std::uint32_t reads = who.reader->reads[who.eighth];
    who.reader->reads[who.eighth] = 0;
    if (ever_biased_.load(platform::relaxed) == 0) return 0;
    return reads < bias::reads_credited_at_once ? reads : bias::reads_credited_at_once;
  }

  bias::account balance_{0};
  platform::atomic<std::uint16_t> cost_{300};
  platform::atomic<std::uint16_t> last_reader_{0};
  platform::atomic<std::uint8_t> ever_biased_{0};
  std::uint8_t revocations_ = 0;  // of writers, of which one is here at a time
};

}  // namespace readmost::detail
