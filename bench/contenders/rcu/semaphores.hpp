// SPDX-License-Identifier: Apache-2.0
// Sets of semaphores found by number in an array that is replaced when it has to grow, as in System
// V IPC (RCU 5.1, Figs. 19 to 25), under different synchronization. The virtual use() runs a whole
// loop, so that inline functions are inlined in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct semaphore_result {
  std::uint64_t operations = 0;
  std::uint64_t missing = 0;  // numbers without a semaphore
};

class semaphore_set {
 public:
  virtual ~semaphore_set() = default;

  // Finds, locks and counts up semaphores with random numbers below `numbers` until it is stopped;
  // stores the number of operations so far in `operations`. For any number of threads at once.
  virtual semaphore_result use(const std::atomic<bool>& stopped, std::uint64_t seed,
                               std::size_t numbers, std::atomic<std::uint64_t>& operations) = 0;

  // A new semaphore with the lowest free number, which is returned; the array grows if it is full.
  virtual std::size_t create() = 0;
  // Removes the semaphore and returns its count. No other thread may remove it.
  virtual std::uint64_t remove(std::size_t number) = 0;
  // Replaces the array by the smallest that suffices.
  virtual void trim() = 0;
  virtual std::size_t capacity() = 0;

  // Returns when all removed semaphores and replaced arrays have been reclaimed.
  virtual void settle() = 0;
};

struct semaphore_set_maker {
  std::string name;
  std::unique_ptr<semaphore_set> (*make)();  // an empty one
};

// All semaphores that the build found; Readmost's first.
std::vector<semaphore_set_maker> all_semaphore_sets();

std::unique_ptr<semaphore_set> make_liburcu_semaphores();

}  // namespace bench
