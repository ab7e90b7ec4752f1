// SPDX-License-Identifier: Apache-2.0
// Whether the runs of a comparison tell a lock from the baseline, and what stands in the way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.hpp"

namespace readmost::command {

// Contains the true median with at least this probability.
inline constexpr double confidence = 0.9;

struct interval {
  double low;
  double high;
};

// The narrowest interval between two of the values, equally far from both ends of their order, that
// contains the median with `confidence`, whatever the values' distribution. Nothing for fewer than
// five values, which cannot be that certain.
std::optional<interval> interval_of_median(std::vector<double> values);

enum class verdict { better, worse, no_difference, too_few_rounds, too_short };

struct judgement {
  verdict says;
  std::optional<interval> ratio;
};

judgement judge(const comparison& results, const measurements& lock);

// "better" and so on, as the JSON file has it.
const char* name_of(verdict says);

struct conclusion {
  verdict says;
  std::string sentence;
};

// For each lock but the baseline that has been run.
std::vector<conclusion> conclusions(const comparison& results);

// What makes the figures doubtful, a sentence each.
std::vector<std::string> doubts(const comparison& results);

}  // namespace readmost::command
