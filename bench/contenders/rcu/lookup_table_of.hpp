// SPDX-License-Identifier: Apache-2.0
// Implements lookup_table for a `Table` with inline functions. Table::find(key) opens a section and
// returns whether the key is there with the value value_of(key).
#pragma once

#include "contenders/rcu/lookup_tables.hpp"
#include "harness/random_numbers.hpp"

namespace bench {

// The hash of all tables, the same as our map applies to the result of std::hash: without it,
// neighbouring integers would not collide.
struct spreading_hash {
  std::size_t operator()(std::uint64_t key) const noexcept {
    const std::uint64_t spread = key * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<std::size_t>(spread ^ spread >> 32);
  }
};

constexpr std::uint64_t value_of(std::uint64_t key) {
  return 3 * key;
}

template <class Table>
class lookup_table_of final : public lookup_table {
 public:
  explicit lookup_table_of(std::size_t elements) : elements_(elements), table_(elements) {}

  void begin_thread() override { Table::begin_thread(); }
  void end_thread() override { Table::end_thread(); }

  std::uint64_t look_up_until(const std::atomic<bool>& stopped, std::uint64_t seed,
                              std::atomic<std::uint64_t>& lookups) override {
    constexpr unsigned batch = 64;
    const std::uint64_t mask = elements_ - 1;
    random_numbers random(seed);
    std::uint64_t missed = 0;
    for (std::uint64_t done = 0; !stopped.load(std::memory_order_relaxed);) {
      for (unsigned i = 0; i < batch; ++i) {
        if (!table_.find(random() & mask)) ++missed;
      }
      lookups.store(done += batch, std::memory_order_relaxed);
    }
    return missed;
  }
  void resize(std::size_t buckets) override { table_.resize(buckets); }
  std::size_t buckets() override { return table_.buckets(); }
  bool synchronize() override { return Table::synchronize(); }

 private:
  std::size_t elements_;
  Table table_;
};

}  // namespace bench
