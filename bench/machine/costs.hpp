// SPDX-License-Identifier: Apache-2.0
// The cost of single machine operations (RCU Table 1; the slides of the RCU paper,
// "Instruction/Pipeline Costs"). `readmost machine` measures others: those that the library's own
// operations wait for.
#pragma once

#include <cstddef>
#include <optional>

namespace bench {

// In nanoseconds. Costs that involve a second CPU are missing where there is only one.
struct operation_costs {
  double clock_cycle = 0;
  double instruction = 0;
  double l1_hit = 0;
  double l2_hit = 0;
  double last_cache_hit = 0;
  double main_memory = 0;
  double atomic_increment = 0;
  double cmpxchg_increment = 0;
  double fence = 0;
  double local_lock = 0;
  std::optional<double> increment_transfer;
  std::optional<double> blind_transfer;
  std::optional<double> invalidating_transfer;
  std::optional<double> lock_transfer;
  std::optional<double> contended_increment;
};

// Sizes in bytes of the first CPU's data caches, from the kernel, else common ones. (sysconf
// returns the sum of all last-level caches on some processors.)
struct cache_sizes {
  std::size_t first;
  std::size_t second;
  std::size_t last;
};
cache_sizes caches();

// How often each operation is timed. The result is the median.
struct sample_count {
  unsigned count = 101;
};

operation_costs measure_operations(sample_count samples);

// Single costs. The operations depend on one another, so that the result is the latency of one.

// An addition that needs the one before: a cycle at the present clock frequency.
double cost_of_cycle(sample_count samples);
// One of many independent additions.
double cost_of_instruction(sample_count samples);
// Follows pointers through so many bytes, in random order, one per cache line.
double cost_of_load(std::size_t bytes, sample_count samples);
double cost_of_atomic_increment(sample_count samples);
double cost_of_cmpxchg_increment(sample_count samples);
double cost_of_fence(sample_count samples);
double cost_of_local_lock(sample_count samples);

// On a line that another CPU wrote last.
enum class transferred {
  increment,     // atomic increment
  blind,         // compare-and-swap without loading the line before
  invalidating,  // load, then compare-and-swap: fetches the line, then invalidates the other copy
  lock           // a spinlock, taken and released
};
std::optional<double> cost_of_transfer(transferred what, sample_count samples);

// An atomic increment of a counter that another CPU increments meanwhile. Costs less than a
// transfer: a CPU that has the line increments it several times before it loses the line.
std::optional<double> cost_of_contended_increment(sample_count samples);

}  // namespace bench
