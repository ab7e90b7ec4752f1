#include "summary.hpp"

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>

namespace readmost::command {

nlohmann::ordered_json as_json(const spread& values) {
  return {{"median", values.median}, {"min", values.min}, {"max", values.max}};
}

std::optional<spread> spread_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> reordered = values;
  const auto [min, max] = std::ranges::minmax(values);
  return spread{boost::math::statistics::median(reordered), min, max};
}

std::vector<double> ratios_to(const measurements& baseline, const measurements& other,
                              const metric& judged_by) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(baseline.values.size(), other.values.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    ratios.push_back(judged_by.ratio(baseline.values[round], other.values[round]));
  }
  return ratios;
}

}  // namespace readmost::command
