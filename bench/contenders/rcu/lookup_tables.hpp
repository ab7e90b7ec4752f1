// The hash tables that hash_table.cpp compares, all from key to value, both integers. Loops over
// lookups are behind the virtual function, so what is inline stays inline.
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

  // To be called by each thread before it uses what follows, and when it will not any more.
  virtual void begin_thread() = 0;
  virtual void end_thread() = 0;

  // Looks up keys that are there, in an order that depends on `seed`, until it is stopped; says in
  // `lookups` how many so far. Returns how many it did not find.
  virtual std::uint64_t look_up_until(const std::atomic<bool>& stopped, std::uint64_t seed,
                                      std::atomic<std::uint64_t>& lookups) = 0;
  // Changes the number of buckets to about this. Returns when it is done.
  virtual void resize(std::size_t buckets) = 0;
  virtual std::size_t buckets() = 0;

  // Waits for a grace period; false where there are none.
  virtual bool synchronize() = 0;
};

// With the keys 0 to `elements` - 1, and as many buckets; a power of two.
struct lookup_table_maker {
  std::string name;
  std::unique_ptr<lookup_table> (*make)(std::size_t elements);
};

// Those that the build found; ours first.
std::vector<lookup_table_maker> all_lookup_tables();

std::unique_ptr<lookup_table> make_rcu_hash_map(std::size_t elements);
std::unique_ptr<lookup_table> make_std_map_in_std_lock(std::size_t elements);
std::unique_ptr<lookup_table> make_std_map_in_our_lock(std::size_t elements);
std::unique_ptr<lookup_table> make_liburcu_lfht(std::size_t elements);

}  // namespace bench
