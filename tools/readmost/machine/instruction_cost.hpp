// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "machine/timing.hpp"
#include "spread.hpp"

#ifdef __OPTIMIZE_SIZE__
#error "compile this with -O2: with -Os calls of lambdas would be measured too"
#endif

namespace readmost::command {

// Alone in its cache line.
struct alignas(platform::cache_line) word {
  std::atomic<std::uint32_t> value{0};
};

template <class Operation>
spread cost_of(const effort& much, const Operation& operation, std::vector<clockid_t> others = {}) {
  return *spread_of(time_of(much, operation, std::move(others)));
}

// Unrolled eight times, so that the loop adds little.
template <class Operation>
spread cost_of_instruction(const effort& much, Operation operation) {
  return cost_of(much,
                 [&] {
                   operation(), operation(), operation(), operation();
                   operation(), operation(), operation(), operation();
                 }) /
         8;
}

}  // namespace readmost::command
