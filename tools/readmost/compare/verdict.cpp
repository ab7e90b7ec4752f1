// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spread.hpp"

namespace readmost::command {
namespace {

// Below this, starting the program and loading a library is a good part of a run.
constexpr double shortest_run = 0.1;
// What other processes may use of the CPUs before the figures are in doubt.
constexpr double tolerable_others = 0.1;

double median_of(const std::vector<double>& values) {
  const std::optional<spread> all = spread_of(values);
  return all ? all->median : 0;
}

// The usual length of a run under the lock whose runs are the shortest.
double seconds_of_run(const comparison& results) {
  double seconds = std::numeric_limits<double>::infinity();
  for (const measurements& lock : results.locks) {
    if (!lock.seconds.empty()) seconds = std::min(seconds, median_of(lock.seconds));
  }
  return seconds;
}

bool is_too_short(const comparison& results) {
  return seconds_of_run(results) < shortest_run;
}

std::string range(const interval& ratio) {
  return fmt::format("{:.3g} to {:.3g}", ratio.low, ratio.high);
}

std::string sentence_on(const comparison& results, const measurements& lock,
                        const judgement& found) {
  const std::string& baseline = results.locks.front().lock;
  const bool timed = !results.judged_by.pattern();
  const auto told_apart = [&](const char* how) {
    return fmt::format("{} is {} than {}: {:.3g} times ({})", lock.lock, how, baseline,
                       median_of(results.ratios_of(lock)), range(*found.ratio));
  };
  switch (found.says) {
    case verdict::better:
      return told_apart(timed ? "faster" : "better");
    case verdict::worse:
      return told_apart(timed ? "slower" : "worse");
    case verdict::no_difference:
      return fmt::format("no difference between {} and {} can be told: {} times", lock.lock,
                         baseline, range(*found.ratio));
    case verdict::too_few_rounds:
      return fmt::format("too few rounds to tell {} from {}; give --runs 5 or more", lock.lock,
                         baseline);
    case verdict::too_short:
      return fmt::format("the runs are too short to tell {} from {}", lock.lock, baseline);
  }
  return "";
}

}  // namespace

std::optional<interval> interval_of_median(std::vector<double> values) {
  const std::size_t count = values.size();
  // The median is outside of the k-th values from both ends if fewer than k values are on one side
  // of it, and each value is on either side with the same probability.
  double probability = std::pow(0.5, static_cast<double>(count));  // of exactly `outer` on one side
  double outside = 2 * probability;
  std::size_t outer = 0;
  if (count == 0 || outside > 1 - confidence) return std::nullopt;
  for (;;) {
    probability *= static_cast<double>(count - outer) / static_cast<double>(outer + 1);
    if (outside + 2 * probability > 1 - confidence) break;
    outside += 2 * probability;
    ++outer;
  }
  std::ranges::sort(values);
  return interval{values[outer], values[count - 1 - outer]};
}

judgement judge(const comparison& results, const measurements& lock) {
  const std::optional<interval> ratio = interval_of_median(results.ratios_of(lock));
  if (!results.judged_by.pattern() && is_too_short(results)) return {verdict::too_short, ratio};
  if (!ratio) return {verdict::too_few_rounds, ratio};
  if (ratio->low > 1) return {verdict::better, ratio};
  if (ratio->high < 1) return {verdict::worse, ratio};
  return {verdict::no_difference, ratio};
}

const char* name_of(verdict says) {
  switch (says) {
    case verdict::better:
      return "better";
    case verdict::worse:
      return "worse";
    case verdict::no_difference:
      return "no difference";
    case verdict::too_few_rounds:
      return "too few rounds";
    case verdict::too_short:
      return "too short";
  }
  return "";
}

std::vector<conclusion> conclusions(const comparison& results) {
  std::vector<conclusion> all;
  for (const measurements& lock : results.locks) {
    if (&lock == &results.locks.front() || lock.values.empty()) continue;
    const judgement found = judge(results, lock);
    all.push_back({found.says, sentence_on(results, lock, found)});
  }
  return all;
}

std::vector<std::string> doubts(const comparison& results) {
  std::vector<std::string> sentences;
  if (is_too_short(results)) {
    sentences.push_back(fmt::format(
        "a run takes {:.3g} ms, much of which is the program's start; give it more work",
        1000 * seconds_of_run(results)));
  }
  std::vector<double> others;
  for (const measurements& lock : results.locks) {
    others.insert(others.end(), lock.others.begin(), lock.others.end());
  }
  if (const double share = median_of(others); share > tolerable_others) {
    sentences.push_back(fmt::format(
        "other processes used {:.0f}% of the CPUs during the runs; repeat this on a quiet machine",
        100 * share));
  }
  return sentences;
}

}  // namespace readmost::command
