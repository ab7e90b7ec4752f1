// SPDX-License-Identifier: Apache-2.0
// Our hash map, and std::unordered_map under reader-writer locks.
#include "contenders/rcu/lookup_tables.hpp"

#include <mutex>
#include <readmost/rcu_hash_map.hpp>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>
#include <unordered_map>

#include "contenders/rcu/lookup_table_of.hpp"

namespace bench {

namespace {

class our_table {
 public:
  explicit our_table(std::size_t elements) : map_(elements) {
    for (std::uint64_t key = 0; key < elements; ++key) map_.try_emplace(key, value_of(key));
  }

  static void begin_thread() {}
  static void end_thread() {}
  static bool synchronize() {
    readmost::rcu_synchronize();
    return true;
  }

  bool find(std::uint64_t key) {
    const readmost::rcu_reader section;
    const auto found = map_.find(key);
    return found != map_.end() && found->second == value_of(key);
  }
  void resize(std::size_t buckets) { map_.rehash(buckets); }
  std::size_t buckets() { return map_.bucket_count(); }

 private:
  readmost::rcu_hash_map<std::uint64_t, std::uint64_t> map_;
};

template <class Lock>
class locked_table {
 public:
  explicit locked_table(std::size_t elements) {
    map_.rehash(elements);
    for (std::uint64_t key = 0; key < elements; ++key) map_.try_emplace(key, value_of(key));
  }

  static void begin_thread() {}
  static void end_thread() {}
  static bool synchronize() { return false; }

  bool find(std::uint64_t key) {
    const std::shared_lock section(lock_);
    const auto found = map_.find(key);
    return found != map_.end() && found->second == value_of(key);
  }
  void resize(std::size_t buckets) {
    const std::lock_guard guard(lock_);
    map_.rehash(buckets);
  }
  std::size_t buckets() { return map_.bucket_count(); }

 private:
  alignas(64) Lock lock_;
  alignas(64) std::unordered_map<std::uint64_t, std::uint64_t, spreading_hash> map_;
};

}  // namespace

std::unique_ptr<lookup_table> make_rcu_hash_map(std::size_t elements) {
  return std::make_unique<lookup_table_of<our_table>>(elements);
}
std::unique_ptr<lookup_table> make_std_map_in_std_lock(std::size_t elements) {
  return std::make_unique<lookup_table_of<locked_table<std::shared_mutex>>>(elements);
}
std::unique_ptr<lookup_table> make_std_map_in_our_lock(std::size_t elements) {
  return std::make_unique<lookup_table_of<locked_table<readmost::shared_mutex>>>(elements);
}

std::vector<lookup_table_maker> all_lookup_tables() {
  return {
      {"readmost::rcu_hash_map", make_rcu_hash_map},
#if defined(BENCH_HAS_URCU)
      {"liburcu-cds_lfht", make_liburcu_lfht},
#endif
      {"map-in-readmost::shared_mutex", make_std_map_in_our_lock},
      {"map-in-std::shared_mutex", make_std_map_in_std_lock},
  };
}

}  // namespace bench
