// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.hpp"

#include <algorithm>

namespace readmost::command {

bool comparison::has_values() const {
  return std::ranges::any_of(locks, [](const measurements& lock) { return !lock.values.empty(); });
}

std::size_t comparison::rounds_finished() const {
  return std::ranges::min_element(locks, {}, [](const auto& lock) { return lock.values.size(); })
      ->values.size();
}

std::vector<double> comparison::ratios_of(const measurements& lock) const {
  const std::vector<double>& baseline = locks.front().values;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(baseline.size(), lock.values.size()); ++round) {
    ratios.push_back(judged_by.ratio(baseline[round], lock.values[round]));
  }
  return ratios;
}

}  // namespace readmost::command
