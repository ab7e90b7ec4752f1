// SPDX-License-Identifier: Apache-2.0
#include "threads/chunk_report.hpp"

#include <bit>
#include <readmost/detail/platform/bits.hpp>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/spinning.hpp>

#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

constexpr std::uint64_t word_of(std::uint64_t version, std::uint64_t settled) noexcept {
  return version / 2 << chunk_report::records_in_word | settled;
}
constexpr std::uint64_t version_of(std::uint64_t word) noexcept {
  return (word >> chunk_report::records_in_word) * 2;
}
constexpr std::uint64_t settled_of(std::uint64_t word) noexcept {
  return word & (bit(chunk_report::records_in_word) - 1);
}
static_assert(chunk_report::records_in_word * chunk_report::words == chunk::capacity);

// The record whose thread reports for those in `present`, which is not empty. It is another one for
// each version, since its thread may be asleep. And it is one alone: threads that tried to be the
// first would wait for each other's line.
std::uint32_t reporter_of(std::uint64_t present, std::uint64_t version) noexcept {
  const auto turn = static_cast<std::uint32_t>(version / 2 % chunk::capacity);
  const auto behind = std::countr_zero(std::rotr(present, static_cast<int>(turn)));
  return (turn + static_cast<std::uint32_t>(behind)) % chunk::capacity;
}

// Which of `records`, as bits, are settled.
std::uint64_t find_settled(const chunk& c, std::uint64_t records, std::uint64_t version) noexcept {
  std::uint64_t settled = 0;
  std::uint64_t unfetched = records;
  std::uint32_t fetched = 0;
  for (std::uint64_t left = records; left != 0; left &= left - 1, --fetched) {
    for (; fetched < lines_ahead && unfetched != 0; ++fetched, unfetched &= unfetched - 1) {
      platform::prefetch(&c.records[std::countr_zero(unfetched)].seen);
    }
    const auto number = static_cast<std::uint32_t>(std::countr_zero(left));
    // (CR1) Pairs with (E2), as (L4) and (G5) do for rounds.
    const std::uint64_t seen = c.records[number].seen.load(at(letter::CR1, platform::acquire));
    if (is_settled(READMOST_VARIANT(settles_holders, seen, seen & ~std::uint64_t{1}), version)) {
      settled |= bit(number);
    }
  }
  return settled;
}

struct found {
  std::uint64_t settled;
  bool complete;
};

found read_report(const chunk_report& report, std::uint64_t version) noexcept {
  found result{0, true};
  for (std::size_t i = 0; i < chunk_report::words; ++i) {
    // (CR3) Pairs with (CR2): what the settled threads did before they reported is visible.
    const std::uint64_t word = report.settled[i].load(at(letter::CR3, platform::acquire));
    if (is_as_new(version_of(word), version) || is_mutant(mutant::settled_for_ever)) {
      result.settled |= settled_of(word) << i * chunk_report::records_in_word;
    } else {
      result.complete = false;
    }
  }
  return result;
}

}  // namespace

void report_for_chunk(const thread_record& me, std::uint64_t version) noexcept {
  chunk& c = chunk_of(me);
  if (!c.reports_as_one) return;
  const std::uint64_t present = entry_of(me).present.load(platform::relaxed);
  if (!is_reported(c, present) || number_of(me) != reporter_of(present, version)) return;

  platform::prefetch_for_write(&c.report);
  await_other_reports();
  constexpr std::uint32_t passes = 3;
  std::uint64_t settled = 0;
  for (std::uint32_t pass = 0; pass < passes && settled != present; ++pass) {
    settled |= find_settled(c, present & ~settled, version);
  }
  for (std::size_t i = 0; i < chunk_report::words; ++i) {
    const std::uint64_t bits = settled_of(settled >> i * chunk_report::records_in_word);
    // (CR2) Pairs with (CR3). A thread that is late may replace a later version by its own, which
    // only makes rounds look at the records.
    c.report.settled[i].store(word_of(version, bits), at(letter::CR2, platform::release));
  }
}

std::uint64_t settled_in(const chunk& records, std::uint64_t present,
                         std::uint64_t version) noexcept {
  if (!is_reported(records, present)) return 0;
  found now = read_report(records.report, version);
  if (now.complete) return now.settled;
  const std::uint32_t reporter = reporter_of(present, version);
  if (!is_settled(records.records[reporter].seen.load(platform::relaxed), version)) {
    return now.settled;
  }
  constexpr std::uint32_t short_wait = 24;  // times 20 ns
  spin_up_to(platform::pauses(short_wait), [&] {
    now = read_report(records.report, version);
    return now.complete;
  });
  return now.settled;
}

void await_other_reports() noexcept {
  constexpr std::uint32_t short_wait = 6;  // times 20 ns
  for (std::uint32_t left = platform::pauses(short_wait); left != 0; --left) platform::relax();
}

}  // namespace readmost::detail
