#include "top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace readmost::command {
namespace {

constexpr std::size_t locks_shown = 10;

struct lock_rates {
  std::uintptr_t lock;
  top_counts counts;
  wait_figures read_waits;
  wait_figures write_waits;
};

double seconds_between(const top_sample& before, const top_sample& now) {
  return std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-6);
}

// The waits that ended between two samples. The longest is that since the start, so percentiles are
// not cut by it when it is older.
wait_figures waits_since(const std::shared_ptr<const wait_counts>& before,
                         const std::shared_ptr<const wait_counts>& now) {
  if (now == nullptr) return {};
  wait_counts between = *now;
  if (before != nullptr) {
    for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
      between.waits[step] -= std::min(between.waits[step], before->waits[step]);
    }
    between.total -= std::min(between.total, before->total);
  }
  return figures_of(between);
}

// The locks with most operations in between, hottest first.
std::vector<lock_rates> hottest(const top_sample& before, const top_sample& now) {
  std::vector<lock_rates> rates;
  const top_lock none;
  for (const auto& [lock, after] : now.locks) {
    const auto found = before.locks.find(lock);
    const top_lock& earlier = found != before.locks.end() ? found->second : none;
    const lock_rates one{lock, after.counts.since(earlier.counts),
                         waits_since(earlier.read_waits, after.read_waits),
                         waits_since(earlier.write_waits, after.write_waits)};
    if (one.counts.operations() != 0) rates.push_back(one);
  }
  const auto is_hotter = [](const lock_rates& one, const lock_rates& other) {
    return std::pair(one.counts.operations(), one.lock) >
           std::pair(other.counts.operations(), other.lock);
  };
  const std::size_t shown = std::min(rates.size(), locks_shown);
  std::partial_sort(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(shown), rates.end(),
                    is_hotter);
  rates.resize(shown);
  return rates;
}

// Five characters at most: "12.3M".
std::string rate(std::uint64_t count, double seconds) {
  double value = static_cast<double>(count) / seconds;
  const char* unit = "";
  for (const char* larger : {"k", "M", "G"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return fmt::format("{:.{}f}{}", value, *unit == '\0' || value >= 99.95 ? 0 : 1, unit);
}

std::string p99(const wait_figures& waits) {
  return waits.count == 0 ? "-" : as_duration(waits.p99).text;
}

double percent_passive(const top_counts& counts) {
  const std::uint64_t reads = counts.passive_reads + counts.active_reads;
  return reads == 0
             ? 0
             : 100.0 * static_cast<double>(counts.passive_reads) / static_cast<double>(reads);
}

nlohmann::ordered_json as_json(const top_counts& counts, double seconds) {
  const auto per_second = [&](std::uint64_t count) {
    return std::round(static_cast<double>(count) / seconds * 10) / 10;
  };
  return {{"reads",
           {{"passive", per_second(counts.passive_reads)},
            {"active", per_second(counts.active_reads)}}},
          {"writes", per_second(counts.writes)},
          {"revocations", per_second(counts.revocations)}};
}

nlohmann::ordered_json as_json(const wait_figures& waits) {
  return {{"count", waits.count}, {"p50", waits.p50}, {"p99", waits.p99}};
}

}  // namespace

std::string as_block(top_target& target, const top_sample& before, const top_sample& now) {
  const double seconds = seconds_between(before, now);
  std::string block =
      fmt::format("readmost {}: {} (process {}), {} threads, over {:.2f} s\n", READMOST_VERSION,
                  target.program(), target.pid(), now.threads, seconds);
  if (now.lock != lock_choice::prwlock) {
    return block +
           fmt::format("  every lock is left to {}, which counts nothing\n", server_of(now.lock));
  }
  const top_counts all = now.all.since(before.all);
  block += fmt::format(
      "  per second: reads {}, {:.1f}% passive; writes {}; revocations {}; rounds {} by reports, "
      "{} by membarrier\n",
      rate(all.passive_reads + all.active_reads, seconds), percent_passive(all),
      rate(all.writes, seconds), rate(all.revocations, seconds),
      rate(now.rounds_by_reports - before.rounds_by_reports, seconds),
      rate(now.rounds_by_membarrier - before.rounds_by_membarrier, seconds));
  if (!now.per_lock) {
    return block + fmt::format(
                       "  nothing is known of single locks: the program runs without statistics; "
                       "start it with 'readmost run --stats -- {}'\n",
                       target.program());
  }
  block += fmt::format("  {:>8} {:>8} {:>7} {:>7} {:>11} {:>11}  {}\n", "passive", "active",
                       "writes", "revoked", "r-wait p99", "w-wait p99", "lock");
  for (const lock_rates& lock : hottest(before, now)) {
    block += fmt::format("  {:>8} {:>8} {:>7} {:>7} {:>11} {:>11}  {}\n",
                         rate(lock.counts.passive_reads, seconds),
                         rate(lock.counts.active_reads, seconds), rate(lock.counts.writes, seconds),
                         rate(lock.counts.revocations, seconds), p99(lock.read_waits),
                         p99(lock.write_waits), target.place_of(lock.lock - target.core_offset()));
  }
  return block;
}

nlohmann::ordered_json as_json(top_target& target, const top_sample& before,
                               const top_sample& now) {
  using json = nlohmann::ordered_json;
  const double seconds = seconds_between(before, now);
  json document = {{"program", target.program()},
                   {"pid", target.pid()},
                   {"version", READMOST_VERSION},
                   {"lock", name_of(now.lock)},
                   {"seconds", seconds},
                   {"threads", now.threads},
                   {"per_second", as_json(now.all.since(before.all), seconds)},
                   {"hottest", now.per_lock ? json::array() : json(nullptr)}};
  if (!now.per_lock) return document;
  for (const lock_rates& lock : hottest(before, now)) {
    document["hottest"].push_back(
        {{"lock", fmt::format("{:#x}", lock.lock - target.core_offset())},
         {"place", target.place_of(lock.lock - target.core_offset())},
         {"per_second", as_json(lock.counts, seconds)},
         {"waits",
          {{"readers", as_json(lock.read_waits)}, {"writers", as_json(lock.write_waits)}}}});
  }
  return document;
}

}  // namespace readmost::command
