// SPDX-License-Identifier: Apache-2.0
// The time of an operation, measured in batches so long that reading the clock does not count.
#pragma once

#include <chrono>
#include <cstdint>

#include "harness/percentiles.hpp"

namespace bench {

inline void spin_for(std::chrono::nanoseconds time) {
  const auto over = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < over) {
  }
}

// batch(times) does the operation so many times. Returns the nanoseconds of one.
template <class Batch>
double cost_of_one(Batch batch, std::uint64_t times) {
  const auto begin = std::chrono::steady_clock::now();
  batch(times);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / static_cast<double>(times);
}

// The size of a batch that takes about that time.
template <class Batch>
std::uint64_t times_in(Batch batch, std::chrono::duration<double, std::nano> time) {
  std::uint64_t times = 1;
  while (cost_of_one(batch, times) * static_cast<double>(times) < time.count()) times *= 2;
  return times;
}

// The median over batches, within about that time. Interruptions do not count.
template <class Batch>
double usual_cost(Batch batch, std::chrono::nanoseconds time) {
  const std::uint64_t times = times_in(batch, time / 30);
  percentiles costs;
  const auto over = std::chrono::steady_clock::now() + time;
  do {
    costs.add_ns(cost_of_one(batch, times));
  } while (std::chrono::steady_clock::now() < over);
  return costs.median();
}

}  // namespace bench
