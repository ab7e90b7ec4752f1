// SPDX-License-Identifier: Apache-2.0
#include "statistics/lock_figures.hpp"

#include <cstdio>

namespace readmost::detail {

namespace {

// With fewer operations than this a lock does not matter, and its shares mean little.
constexpr std::uint64_t rarely_used = 1'000;

// Many waits of this length are long, or one of the other.
constexpr std::uint64_t long_wait = 1'000'000;
constexpr std::uint64_t waits_that_say_something = 10;
constexpr std::uint64_t very_long_wait = 100'000'000;
// Waits that take this share of the time of one thread matter, however short each is.
constexpr double share_that_matters = 0.1;

std::uint64_t percentile(const wait_counts& counts, std::uint64_t count,
                         std::uint64_t per_cent) noexcept {
  const std::uint64_t wanted = (count * per_cent + 99) / 100;
  std::uint64_t below = 0;
  for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
    below += counts.waits[step];
    if (below >= wanted) {
      const std::uint64_t end = wait_histogram::end_of(step);
      return end < counts.longest ? end : counts.longest;
    }
  }
  return counts.longest;
}

double share_lost(const wait_figures& waits, std::uint64_t nanoseconds) noexcept {
  return nanoseconds == 0 ? 0 : static_cast<double>(waits.total) / static_cast<double>(nanoseconds);
}

bool waits_long(const wait_figures& waits, std::uint64_t nanoseconds) noexcept {
  return (waits.count >= waits_that_say_something && waits.p99 >= long_wait) ||
         waits.longest >= very_long_wait || share_lost(waits, nanoseconds) >= share_that_matters;
}

}  // namespace

void wait_counts::add(const wait_histogram& more) noexcept {
  for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
    waits[step] += more.waits[step].load(platform::relaxed);
  }
  total += more.total.load(platform::relaxed);
  const std::uint64_t other = more.longest.load(platform::relaxed);
  if (longest < other) longest = other;
}

wait_figures figures_of(const wait_counts& counts) noexcept {
  std::uint64_t count = 0;
  for (const std::uint64_t waits : counts.waits) count += waits;
  if (count == 0) return {};
  return {count, counts.total, percentile(counts, count, 50), percentile(counts, count, 99),
          counts.longest};
}

void lock_figures::add_events(const lock_entry& entry) noexcept {
  incarnations += entry.incarnations.load(platform::relaxed);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    revocations[kind] += entry.revocations[kind].load(platform::relaxed);
  }
  revoking += entry.revoking.load(platform::relaxed);
  const std::uint64_t write = entry.longest_write.load(platform::relaxed);
  const std::uint64_t drain = entry.longest_drain.load(platform::relaxed);
  if (longest_write < write) longest_write = write;
  if (longest_drain < drain) longest_drain = drain;
}

duration_text as_duration(std::uint64_t nanoseconds) noexcept {
  duration_text t;
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000) {
    std::snprintf(t.text, sizeof t.text, "%.0f ns", value);
  } else if (nanoseconds < 1'000'000) {
    std::snprintf(t.text, sizeof t.text, "%.1f us", value / 1e3);
  } else if (nanoseconds < 1'000'000'000) {
    std::snprintf(t.text, sizeof t.text, "%.1f ms", value / 1e6);
  } else {
    std::snprintf(t.text, sizeof t.text, "%.2f s", value / 1e9);
  }
  return t;
}

verdict verdict_on(const lock_figures& f, std::uint64_t nanoseconds,
                   const wait_remedies& remedies) noexcept {
  verdict v;
  const auto say = [&](const char* what) { std::snprintf(v.text, sizeof v.text, "%s", what); };
  const auto say_share = [&](const char* what) {
    std::snprintf(v.text, sizeof v.text, "%s %.1f%% of the time", what, f.biased_percent());
  };
  const auto say_waits = [&](const char* whose, const wait_figures& waits, const char* remedy) {
    std::snprintf(v.text, sizeof v.text,
                  "%s wait long: longest %s, %.1f%% of a thread's time in all; %s", whose,
                  as_duration(waits.longest).text, 100 * share_lost(waits, nanoseconds), remedy);
  };
  const bool readers = waits_long(f.read_waits, nanoseconds);
  const bool writers = waits_long(f.write_waits, nanoseconds);
  if (readers && (!writers || f.read_waits.longest >= f.write_waits.longest)) {
    say_waits("readers", f.read_waits, remedies.of_readers);
  } else if (writers) {
    say_waits("writers", f.write_waits, remedies.of_writers);
  } else if (f.operations() < rarely_used) {
    say("rarely used");
  } else if (f.biased_percent() >= 90) {
    say_share("read-mostly: biased");
  } else if (f.writes * 10 >= f.reads()) {
    if (f.biased_percent() < 10) {
      say("write-heavy: bias kept off");
    } else {
      say_share("many writes: biased");
    }
  } else {
    say_share("read-mostly, but biased only");
  }
  return v;
}

}  // namespace readmost::detail
