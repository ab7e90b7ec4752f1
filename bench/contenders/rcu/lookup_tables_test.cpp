// SPDX-License-Identifier: Apache-2.0
// A table that finds nothing is fast: checks that each table, as wrapped here, finds its keys.
#include "contenders/rcu/lookup_tables.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

constexpr std::size_t elements = 1024;

// The number of lookups by another thread that find nothing while resize() runs.
template <class Resize>
std::uint64_t misses_during(bench::lookup_table& table, Resize resize) {
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> lookups{0};
  std::uint64_t misses = 0;
  std::thread searcher([&] {
    table.begin_thread();
    misses = table.look_up_until(stopped, 1, lookups);
    table.end_thread();
  });
  resize();
  while (lookups < 100'000) std::this_thread::yield();
  stopped = true;
  searcher.join();
  return misses;
}

TEST(lookup_tables, find_every_key_at_rest) {
  for (const auto& maker : bench::all_lookup_tables()) {
    const auto table = maker.make(elements);
    EXPECT_EQ(misses_during(*table, [] {}), 0U) << maker.name;
  }
}

TEST(lookup_tables, find_every_key_while_they_are_resized) {
  for (const auto& maker : bench::all_lookup_tables()) {
    const auto table = maker.make(elements);
    table->begin_thread();
    const auto resize = [&] {
      for (int i = 0; i < 20; ++i) {
        table->resize(2 * elements);
        EXPECT_GE(table->buckets(), 2 * elements) << maker.name;
        table->resize(elements);
        EXPECT_LT(table->buckets(), 2 * elements) << maker.name;
      }
    };
    EXPECT_EQ(misses_during(*table, resize), 0U) << maker.name;
    table->end_thread();
  }
}

}  // namespace
