// SPDX-License-Identifier: Apache-2.0
// The hash tables that rcu/mixed_hash_table.cpp compares: the same table (chains.hpp) under
// different synchronization, searched and updated in a given mix. The virtual use() runs a whole
// loop, so that inline functions are inlined in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// The operations of one thread in a table.
struct mixed_result {
  std::uint64_t searches = 0;
  std::uint64_t updates = 0;
  std::uint64_t misses = 0;  // searches that found nothing because their key was being updated
  std::uint64_t wrong = 0;   // searches that found a deleted element or another key: a fault
};

class mixed_table {
 public:
  virtual ~mixed_table() = default;

  // Searches and updates (deletes and reinserts) random keys until it is stopped, the share
  // `updates` (0 to 1) of all operations being updates; stores the number of operations so far in
  // `operations`. For any number of threads at once.
  virtual mixed_result use(const std::atomic<bool>& stopped, std::uint64_t seed, double updates,
                           std::atomic<std::uint64_t>& operations) = 0;

  // Returns when all deleted elements have been reclaimed.
  virtual void settle() = 0;
  // Describes a fault of the table, which no thread uses meanwhile; empty if there is none.
  virtual std::string fault() const = 0;
};

struct mixed_table_maker {
  std::string name;
  std::unique_ptr<mixed_table> (*make)(std::size_t buckets);  // a power of two
  // Without synchronization, for one thread.
  bool single_threaded = false;
};

// All tables that the build found; Readmost's first.
std::vector<mixed_table_maker> all_mixed_tables();

std::unique_ptr<mixed_table> make_liburcu_mixed_table(std::size_t buckets);

}  // namespace bench
