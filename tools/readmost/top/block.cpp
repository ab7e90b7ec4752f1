// SPDX-License-Identifier: Apache-2.0
// The block that `top` prints for each interval.
#include <fmt/format.h>

#include <string_view>

#include "lines.hpp"
#include "top/rates.hpp"

namespace readmost::command {
namespace {

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

// Rates have five characters, durations eight.
constexpr std::size_t figures_width = 54;

// What follows a lock's figures in their line. On a terminal of so many columns the block stays in
// place, and a name is cut; elsewhere, for no columns, a long one has a line of its own.
std::string name_of_lock(const std::string& place, std::size_t columns) {
  constexpr std::string_view mark = "...";
  constexpr std::size_t indentation = 6;
  const bool fits = figures_width + place.size() <= (columns != 0 ? columns : page_width);
  if (!fits && columns == 0) return '\n' + std::string(indentation, ' ') + place;
  if (fits || columns < figures_width + mark.size()) return "  " + place;
  return "  " + place.substr(0, columns - figures_width - mark.size()) + std::string(mark);
}

}  // namespace

std::string as_block(top_target& target, const top_rates& rates, std::size_t columns) {
  const top_sample& now = rates.now;
  const auto per_second = [&](std::uint64_t count) { return rate(count, rates.seconds); };
  const std::size_t width = columns != 0 ? columns : page_width;
  std::string block = wrapped(
      fmt::format("readmost {}: {} (process {}), {} threads, over {:.2f} s", READMOST_VERSION,
                  shown(target.program()), target.pid(), now.threads, rates.seconds),
      2, width);
  if (now.lock != lock_choice::prwlock) {
    return block + fmt::format("  every lock is left to {}, which keeps no statistics\n",
                               server_of(now.lock));
  }
  const top_counts& all = rates.all;
  block += fmt::format(
      "  per second: reads {}, {:.1f}% passive; writes {}; revocations {};\n"
      "              rounds {} by reports, {} by membarrier\n",
      per_second(all.passive_reads + all.active_reads), percent_passive(all),
      per_second(all.writes), per_second(all.revocations), per_second(rates.rounds_by_reports),
      per_second(rates.rounds_by_membarrier));
  if (!now.per_lock) {
    return block + "  no figures of single locks: the program runs without statistics;\n  " +
           wrapped(
               fmt::format("start it with 'readmost run --stats -- {}'", shown(target.program())),
               2, width - 2);
  }
  const auto line = [&](const auto&... cells) {
    block += fmt::format("  {:>7} {:>6} {:>6} {:>7} {:>8} {:>8}{}\n", cells...);
  };
  line("passive", "active", "writes", "revoked", "r-p99", "w-p99", "  lock");
  for (const lock_rates& lock : rates.hottest) {
    line(per_second(lock.counts.passive_reads), per_second(lock.counts.active_reads),
         per_second(lock.counts.writes), per_second(lock.counts.revocations), p99(lock.read_waits),
         p99(lock.write_waits),
         name_of_lock(shown(target.place_of(lock.lock - target.core_offset())), columns));
  }
  return block;
}

}  // namespace readmost::command
