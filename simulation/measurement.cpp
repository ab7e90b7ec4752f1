// SPDX-License-Identifier: Apache-2.0
#include "simulation/measurement.hpp"

#include <algorithm>
#include <cmath>

namespace readmost::simulation {

duration latencies::quantile(double share) const {
  if (times_.empty()) return 0;
  if (!sorted_) std::ranges::sort(times_);
  sorted_ = true;
  const double place = std::ceil(share * static_cast<double>(times_.size())) - 1;
  return times_[static_cast<std::size_t>(std::max(place, 0.0))];
}

double latencies::mean() const {
  double sum = 0;
  for (const duration each : times_) sum += static_cast<double>(each);
  return times_.empty() ? 0 : sum / static_cast<double>(times_.size());
}

}  // namespace readmost::simulation
