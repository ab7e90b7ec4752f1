// SPDX-License-Identifier: Apache-2.0
// The hash tables that rcu/hash_table.cpp compares, from integer keys to integer values. The
// virtual look_up_until() runs a whole loop, so that inline functions are inlined in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

class lookup_table {
 public:
  virtual ~lookup_table() = default;

  // Each thread must call these before and after it uses the other functions.
  virtual void begin_thread() = 0;
  virtual void end_thread() = 0;

  // Looks up keys of the table, in an order that depends on `seed`, until it is stopped; stores the
  // number of lookups so far in `lookups`. Returns how many keys it did not find.
  virtual std::uint64_t look_up_until(const std::atomic<bool>& stopped, std::uint64_t seed,
                                      std::atomic<std::uint64_t>& lookups) = 0;
  // Returns when the table has about that number of buckets.
  virtual void resize(std::size_t buckets) = 0;
  virtual std::size_t buckets() = 0;

  // Waits for a grace period; false for tables without RCU.
  virtual bool synchronize() = 0;
};

// With the keys 0 to `elements` - 1, and as many buckets; a power of two.
struct lookup_table_maker {
  std::string name;
  std::unique_ptr<lookup_table> (*make)(std::size_t elements);
};

// All tables that the build found; Readmost's first.
std::vector<lookup_table_maker> all_lookup_tables();

std::unique_ptr<lookup_table> make_rcu_hash_map(std::size_t elements);
std::unique_ptr<lookup_table> make_std_map_in_std_lock(std::size_t elements);
std::unique_ptr<lookup_table> make_std_map_in_our_lock(std::size_t elements);
std::unique_ptr<lookup_table> make_liburcu_lfht(std::size_t elements);

}  // namespace bench
