// When a bravo lock is biased towards readers: the policies, each the lock's member.
//
// Being biased saves something at every read and costs the next writer a revocation. All accesses
// are relaxed and may lose an update to a race: these are hints. What a policy has:
//
//   times_revocations   revoked() is told when the revocation began and ended
//   counts_reads        readers count the reads through a slot
//   is_due(who)         a slow reader of an unbiased lock: shall it set the bias?
//   revoked(who, cost)  a writer took the bias away
//   wrote()             a writer found the lock unbiased
//   is_kept()           a writer that took the bias away leaves: shall it set it again?
#pragma once

#include <readmost/detail/bravo/visible_readers.hpp>

namespace readmost::detail {

// Who asks, for which lock.
struct asker {
  visible_reader* reader;  // null: not known
  std::uint64_t lock;
  std::size_t eighth;  // of all locks, in which this one is
  std::int32_t saved;  // by a read through a slot, in nanoseconds
};

// In nanoseconds: on the clock, and how long the writer waited for readers.
struct revocation_cost {
  std::uint64_t began;
  std::uint64_t ended;
  std::uint64_t waited;
};

// The paper's: after a revocation no bias for N times as long as that took, so that a writer is
// slowed by 1/(N + 1) at most. `Every`: a thread looks at the clock, which costs more than a read
// lock, at one of so many slow reads only.
template <std::uint64_t N = 9, std::uint32_t Every = 1>
class inhibited_bias {
 public:
  static constexpr bool times_revocations = true;
  static constexpr bool counts_reads = false;

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

// The paper's early prototype: one of so many slow reads sets the bias, drawn by Marsaglia's
// xorshift.
template <std::uint32_t OneOf = 100>
class drawn_bias {
 public:
  static constexpr bool times_revocations = false;
  static constexpr bool counts_reads = false;

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

// Biased whenever anybody may say so: for tests, and to see what revocations cost.
class eager_bias {
 public:
  static constexpr bool times_revocations = false;
  static constexpr bool counts_reads = false;

  static bool is_due(asker) noexcept { return true; }
  static void revoked(asker, revocation_cost) noexcept {}
  static void wrote() noexcept {}
  static bool is_kept() noexcept { return true; }
};

// An account in nanoseconds, as src/lock/bias.hpp has it: credited what each read saved or would
// have saved, debited what each write paid or would have paid, a scan of the table at `least_cost`
// however long that is. Bias is given when the balance is well above nothing and taken when it
// falls below, so what revocations cost hardly exceeds what readers saved. A writer that leaves a
// lock with a good balance sets the bias itself: no reader has to earn it anew. No clock is read
// but by a writer that waits.
class weighed_bias {
 public:
  static constexpr bool times_revocations = false;
  static constexpr bool counts_reads = true;

  bool is_due(asker who) noexcept {
    visible_reader* const reader = who.reader;
    if (reader == nullptr) return false;
    std::uint32_t& left = reader->until_account[who.eighth];
    const bool accounts = left == 0;
    left = accounts ? reads_per_account - 1 : left - 1;
    const std::uint32_t passed = take_reads(who);
    if (!accounts && passed == 0) return false;
    // Of several readers each pays for the line that the last one had.
    const auto me = static_cast<std::uint16_t>(reader->number >> number_shift);
    if (last_reader_.load(platform::relaxed) != me) {
      who.saved = who.saved * among_others / alone;
      last_reader_.store(me, platform::relaxed);
    }
    add(static_cast<std::int32_t>(passed + (accounts ? reads_per_account : 0)) * who.saved);
    if (balance_.load(platform::relaxed) < enough_for_bias) return false;
    ever_biased_.store(1, platform::relaxed);
    return true;
  }

  void revoked(asker who, revocation_cost of) noexcept {
    // Who waits keeps others waiting.
    const std::uint64_t waited = of.waited < 10'000 ? of.waited : 10'000;
    const std::uint64_t cost = least_cost + 2 * waited;
    const std::uint64_t before = cost_.load(platform::relaxed);
    cost_.store(static_cast<std::uint16_t>((7 * before + cost) / 8), platform::relaxed);
    const std::uint32_t read = who.reader != nullptr ? take_reads(who) : 0;
    add(static_cast<std::int32_t>(read) * who.saved - static_cast<std::int32_t>(cost));
  }
  // What a revocation has cost of late; that ages, or one bad spell would last for ever.
  void wrote() noexcept {
    const std::uint32_t cost = cost_.load(platform::relaxed);
    if (cost > least_cost) cost_.store(static_cast<std::uint16_t>(cost - 1), platform::relaxed);
    add(-static_cast<std::int32_t>(cost));
  }
  bool is_kept() const noexcept { return balance_.load(platform::relaxed) >= 0; }

 private:
  // A prime, so that of locks that are read in turns none is overlooked.
  static constexpr std::uint32_t reads_per_account = 7;
  static constexpr std::uint32_t reads_credited_at_once = 4'096;
  static constexpr std::int32_t alone = 2;
  static constexpr std::int32_t among_others = 5;
  static constexpr std::int32_t enough_for_bias = 2'000;
  static constexpr std::int32_t highest = 20'000;
  static constexpr std::int32_t lowest = -6'000;
  // Of a revocation that finds nobody: the scan.
  static constexpr std::uint32_t least_cost = 150;

  // What the thread has read through slots since its last account. A lock that was never biased has
  // the address of one that is no more.
  std::uint32_t take_reads(const asker& who) const noexcept {
    if (who.reader->lock_read[who.eighth] != who.lock) return 0;
    const std::uint32_t reads = who.reader->reads[who.eighth];
    who.reader->reads[who.eighth] = 0;
    if (ever_biased_.load(platform::relaxed) == 0) return 0;
    return reads < reads_credited_at_once ? reads : reads_credited_at_once;
  }

  void add(std::int32_t amount) noexcept {
    const std::int32_t old = balance_.load(platform::relaxed);
    std::int32_t balance = old + amount;
    balance = balance > highest ? highest : balance < lowest ? lowest : balance;
    if (balance != old) balance_.store(static_cast<std::int16_t>(balance), platform::relaxed);
  }

  platform::atomic<std::int16_t> balance_{0};
  platform::atomic<std::uint16_t> cost_{300};
  platform::atomic<std::uint16_t> last_reader_{0};
  platform::atomic<std::uint8_t> ever_biased_{0};
};

}  // namespace readmost::detail
