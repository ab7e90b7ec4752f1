// What the machine's own operations cost (RCU Table 1; the slides of the RCU paper,
// "Instruction/Pipeline Costs"), measured one by one.
#pragma once

#include <cstddef>
#include <optional>

namespace bench {

// Nanoseconds. Those with a second CPU in them are missing where there is only one.
struct machine_costs {
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

// Sizes in bytes of the first CPU's data caches; as the kernel knows them, else as they commonly
// are. (sysconf tells of some processors what all their last caches hold together.)
struct cache_sizes {
  std::size_t first;
  std::size_t second;
  std::size_t last;
};
cache_sizes caches();

// How many times each operation is timed; the median counts.
struct sample_count {
  unsigned count = 101;
};

machine_costs measure_machine(sample_count samples);

// One by one, also for who needs only some. Each of dependent operations, so that what is counted
// is how long one takes.

// An addition that needs the one before; the clock as the processor runs now.
double cost_of_cycle(sample_count samples);
// One of many additions that do not need one another.
double cost_of_instruction(sample_count samples);
// Follows pointers through so many bytes, in random order, a cache line each.
double cost_of_load(std::size_t bytes, sample_count samples);
double cost_of_atomic_increment(sample_count samples);
double cost_of_cmpxchg_increment(sample_count samples);
double cost_of_fence(sample_count samples);
double cost_of_local_lock(sample_count samples);

// On a line that another CPU wrote last.
enum class transferred {
  increment,     // atomic increment
  blind,         // compare-and-swap without a look at the line before
  invalidating,  // load, then compare-and-swap: fetches the line, then takes it away from the other
  lock           // a spinlock, taken and released
};
std::optional<double> cost_of_transfer(transferred what, sample_count samples);

// An atomic increment of what another CPU increments all the while. Less than a transfer: a CPU
// that has the line increments it several times before it loses it.
std::optional<double> cost_of_contended_increment(sample_count samples);

}  // namespace bench
