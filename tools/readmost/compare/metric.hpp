// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "process/child.hpp"

namespace re2 {
class RE2;
}

namespace readmost::command {

// The quantity that is compared: the wall time, or a number that the program prints.
class metric {
 public:
  // Wall time in seconds, lower is better.
  metric() = default;

  // The number that the pattern finds in the output. Throws failure 125 for a bad pattern.
  metric(const std::string& pattern, bool lower_is_better);

  // How many bytes of output to keep, to find the number and to show the end of the output.
  std::size_t output_needed() const;

  struct reading {
    double value = 0;
    std::string problem;  // why there is no value; empty when there is one
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
  std::shared_ptr<const re2::RE2> pattern_;
  std::string pattern_text_;
  bool lower_is_better_ = true;
};

}  // namespace readmost::command
