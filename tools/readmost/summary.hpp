#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metric.hpp"

namespace readmost::command {

struct spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

nlohmann::ordered_json as_json(const spread& values);

// Nothing for no values.
std::optional<spread> spread_of(const std::vector<double>& values);

// What was measured under one lock; the values are in the order of the rounds.
struct measurements {
  std::string lock;
  std::vector<double> values;
  std::vector<double> seconds;
};

// Each value against the baseline's of the same round, so that what changes from round to round
// (other load, the CPU's frequency) cancels. Only rounds that both have finished count.
std::vector<double> ratios_to(const measurements& baseline, const measurements& other,
                              const metric& judged_by);

}  // namespace readmost::command
