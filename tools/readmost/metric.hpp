#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>

#include "child.hpp"

namespace readmost::command {

// What a run is judged by: its wall time, or a number that the program prints.
class metric {
 public:
  // Wall time in seconds, lower is better.
  metric() = default;

  // The number that the pattern finds in the output. Throws failure 125 for a bad pattern.
  metric(const std::string& pattern, bool lower_is_better);

  // What of the output has to be kept to find the number and to show the end of it.
  std::size_t output_needed() const;

  struct reading {
    double value = 0;
    std::string problem;  // not empty when there is no value, and why
  };
  reading read(const child_result& run) const;

  // Above 1 when `value` is better than `baseline`.
  double ratio(double baseline, double value) const {
    return lower_is_better_ ? baseline / value : value / baseline;
  }

  bool lower_is_better() const { return lower_is_better_; }
  std::optional<std::string> pattern() const;
  std::string description() const;

 private:
  std::unique_ptr<RE2> pattern_;
  std::string pattern_text_;
  bool lower_is_better_ = true;
};

}  // namespace readmost::command
