// The hash tables that rcu_hash_table.cpp compares: the same table (chains.hpp) under different
// synchronization, searched and updated in a given mix. Loops over operations are behind the
// virtual function, so what is inline stays inline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// How a table was used by one thread.
struct mixed_result {
  std::uint64_t searches = 0;
  std::uint64_t updates = 0;
  std::uint64_t misses = 0;  // searches that found nothing, since their key was just being updated
  std::uint64_t wrong = 0;   // that found what was destroyed or another key: a fault
};

class mixed_table {
 public:
  virtual ~mixed_table() = default;

  // Searches and updates (deletes and reinserts) random keys until it is stopped, the share
  // `updates` (0 to 1) of all operations being updates; says in `operations` how many so far. By
  // any number of threads at once.
  virtual mixed_result use(const std::atomic<bool>& stopped, std::uint64_t seed, double updates,
                           std::atomic<std::uint64_t>& operations) = 0;

  // Returns when everything that was deleted has been reclaimed.
  virtual void settle() = 0;
  // What is wrong with it while nobody uses it, or nothing.
  virtual std::string fault() const = 0;
};

struct mixed_table_maker {
  std::string name;
  std::unique_ptr<mixed_table> (*make)(std::size_t buckets);  // a power of two
  // Without synchronization: for one thread.
  bool single_threaded = false;
};

// Those that the build found; ours first.
std::vector<mixed_table_maker> all_mixed_tables();

std::unique_ptr<mixed_table> make_liburcu_mixed_table(std::size_t buckets);

}  // namespace bench
