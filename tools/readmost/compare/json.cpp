#include "json.hpp"

#include <fmt/chrono.h>

#include "compare/comparison.hpp"

namespace readmost::command {

std::string as_json(const comparison& results) {
  const std::optional<std::string> pattern = results.judged_by.pattern();
  const kernel_facts& kernel = results.kernel;
  json document = {
      {"readmost", READMOST_VERSION},
      {"finished", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"command", results.program},
      {"metric", pattern.value_or("wall time")},
      {"better", results.judged_by.lower_is_better() ? "lower" : "higher"},
      {"rounds", results.rounds_asked},
      {"rounds_finished", results.rounds_finished()},
      {"complete", results.problem.empty()},
      {"problem", text_or_null(results.problem)},
      {"library", text_or_null(results.library)},
      {"host",
       {{"cpus", results.cpus},
        {"kernel", kernel.system + ' ' + kernel.release},
        {"machine", kernel.architecture}}},
      {"baseline", results.locks.front().lock},
      {"locks", json::array()},
  };
  for (const measurements& lock : results.locks) {
    const std::vector<double> ratios = results.ratios_of(lock);
    document["locks"].push_back({{"lock", lock.lock},
                                 {"values", lock.values},
                                 {"seconds", lock.seconds},
                                 {"value", spread_of(lock.values)},
                                 {"ratios", ratios},
                                 {"ratio", spread_of(ratios)}});
  }
  return text_of(document);
}

}  // namespace readmost::command
