// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace readmost::command {

struct spread {
  double median = 0;
  double min = 0;
  double max = 0;

  spread operator/(double divisor) const {
    return {median / divisor, min / divisor, max / divisor};
  }
};

// Nothing for no values.
inline std::optional<spread> spread_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t upper = values.size() / 2;
  const std::size_t lower = (values.size() - 1) / 2;
  return spread{(values[lower] + values[upper]) / 2, values.front(), values.back()};
}

}  // namespace readmost::command
