// SPDX-License-Identifier: Apache-2.0
// Percentiles of repeated measurements.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace bench {

class percentiles {
 public:
  void add(std::chrono::nanoseconds one) { add_ns(static_cast<double>(one.count())); }
  void add_ns(double one) {
    values_.push_back(one);
    sorted_ = false;
  }

  std::size_t count() const { return values_.size(); }

  // The smallest value that `share` (0 to 1) of all do not exceed. Precondition: there is one.
  double at(double share) {
    if (values_.empty()) throw std::logic_error("no value was measured");
    if (!sorted_) std::sort(values_.begin(), values_.end());
    sorted_ = true;
    const double rank = std::ceil(share * static_cast<double>(values_.size()));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    return values_[std::min(index, values_.size() - 1)];
  }
  double median() { return at(0.5); }
  double p99() { return at(0.99); }
  double highest() { return at(1); }

 private:
  std::vector<double> values_;
  bool sorted_ = false;
};

// The cost of a call of the clock, in ns. A duration between two calls contains one.
inline double clock_cost() {
  constexpr int calls = 1000;
  percentiles costs;
  for (int repetition = 0; repetition < 21; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    auto end = begin;
    for (int i = 0; i < calls; ++i) end = std::chrono::steady_clock::now();
    costs.add_ns(static_cast<double>(std::chrono::nanoseconds(end - begin).count()) / calls);
  }
  return costs.median();
}

}  // namespace bench
