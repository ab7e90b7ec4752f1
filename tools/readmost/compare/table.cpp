// SPDX-License-Identifier: Apache-2.0
// The table that `compare` prints.
#include <fmt/ranges.h>

#include <cmath>

#include "compare/comparison.hpp"
#include "compare/verdict.hpp"
#include "spread.hpp"
#include "terminal.hpp"

namespace readmost::command {
namespace {

// Noise makes more than four digits meaningless; large counts keep their integral part.
std::string number(double value) {
  return std::fabs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string ratio_explanation(const comparison& results) {
  const std::string& baseline = results.locks.front().lock;
  if (!results.judged_by.pattern()) {
    return fmt::format("{}'s time over the lock's, above 1 is faster", baseline);
  }
  return results.judged_by.lower_is_better()
             ? fmt::format("{}'s number over the lock's, above 1 is better", baseline)
             : fmt::format("the lock's number over {}'s, above 1 is better", baseline);
}

}  // namespace

std::string as_table(const comparison& results) {
  const measurements& baseline = results.locks.front();
  std::string table = fmt::format("program  {}\nmetric   {}\nhost     {} CPUs, {} {}, {}\n\n",
                                  fmt::join(results.program, " "), results.judged_by.description(),
                                  results.cpus.size(), results.kernel.system,
                                  results.kernel.release, results.kernel.architecture);
  table += fmt::format("{:<16}{:>12}  {:>23}  {:>16}  {:>17}\n", "lock", "median", "min..max",
                       "ratio to " + baseline.lock, "min..max");
  for (const measurements& lock : results.locks) {
    const std::optional<spread> values = spread_of(lock.values);
    if (!values) {
      table += fmt::format("{:<16}{:>12}\n", lock.lock, "no run");
      continue;
    }
    table += fmt::format("{:<16}{:>12}  {:>23}", lock.lock, number(values->median),
                         fmt::format("{}..{}", number(values->min), number(values->max)));
    if (&lock == &baseline) {
      table += fmt::format("  {:>16}", "1");
    } else if (const std::optional<spread> ratios = spread_of(results.ratios_of(lock))) {
      table += fmt::format("  {:>16.3f}  {:>17}", ratios->median,
                           fmt::format("{:.3f}..{:.3f}", ratios->min, ratios->max));
    }
    table += '\n';
  }
  table += fmt::format("\nratio: {}; median over {} rounds, each ratio within one round\n",
                       ratio_explanation(results), results.rounds_finished());
  for (const conclusion& found : conclusions(results)) {
    table += "result: ";
    table += found.says == verdict::better  ? emphasized(found.sentence, emphasis::good)
             : found.says == verdict::worse ? emphasized(found.sentence, emphasis::bad)
                                            : found.sentence;
    table += '\n';
  }
  for (const std::string& sentence : doubts(results)) table += "doubt: " + sentence + '\n';
  if (!results.problem.empty()) {
    table += fmt::format("INCOMPLETE: {} of {} rounds were finished\n", results.rounds_finished(),
                         results.rounds_asked);
  }
  return table;
}

}  // namespace readmost::command
