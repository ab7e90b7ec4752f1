// SPDX-License-Identifier: Apache-2.0
// Lookups in hash tables, also while a table is resized, and grace periods meanwhile (FCP Figs. 16,
// 17 and 18).
#include <fmt/core.h>

#include <cstdlib>

#include "contenders/rcu/lookup_tables.hpp"
#include "harness/benchmark.hpp"
#include "harness/workers.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;
using namespace std::chrono_literals;

constexpr const char* description =
    "Lookups per second of one and of two threads in a hash table of 8192 elements: with 8192 "
    "buckets, and while another thread resizes it to 16,384 and back without a pause (FCP Fig. "
    "16). The number of resizes meanwhile; and the duration in nanoseconds of a grace period every "
    "0.1 ms beside that thread and one that looks up (Figs. 17, 18).";

constexpr std::size_t elements = 8192;

// Threads that look up without a pause. A key that is not found ends the program.
bench::workers searchers(bench::lookup_table& table, unsigned count) {
  return bench::workers(
      count,
      [&table](const std::atomic<bool>& stopped, unsigned number,
               std::atomic<std::uint64_t>& lookups) {
        const bench::user_of member(table);
        if (table.look_up_until(stopped, number, lookups) != 0) {
          fmt::print(stderr, "hash_table: a key in the table was not found\n");
          std::abort();
        }
      },
      10'000);
}

// A thread that resizes without a pause.
class resizer {
 public:
  explicit resizer(bench::lookup_table& table)
      : thread_([this, &table] {
          const bench::user_of member(table);
          while (!stopped_.load(std::memory_order_relaxed)) {
            for (const std::size_t buckets : {2 * elements, elements}) {
              table.resize(buckets);
              resizes_.fetch_add(1, std::memory_order_relaxed);
            }
          }
        }) {}
  ~resizer() { stopped_ = true; }

  std::uint64_t resizes() const { return resizes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> resizes_{0};
  std::jthread thread_;
};

class measurement {
 public:
  measurement(bench::lookup_table& table, bench::effort chosen, bench::figures& found)
      : table_(table), chosen_(chosen), found_(found) {}

  void lookups(unsigned threads) {
    const bench::workers searching = searchers(table_, threads);
    found_.more_is_better("Lookups", fmt::format("{} threads", threads), "per second",
                          searching.per_second(chosen_.time(400ms)));
  }

  void lookups_while_resizing(unsigned threads) {
    const bench::workers searching = searchers(table_, threads);
    const resizer resizing(table_);
    const std::uint64_t before = resizing.resizes();
    const auto begin = clock::now();
    const std::string name = fmt::format("{} threads", threads);
    found_.more_is_better("Lookups in a table that is resized", name, "per second",
                          searching.per_second(chosen_.time(400ms)));
    const std::chrono::duration<double> time = clock::now() - begin;
    found_.more_is_better("Resizes beside lookups", name, "per second",
                          static_cast<double>(resizing.resizes() - before) / time.count());
  }

  void grace_periods_while_resizing() {
    const bench::user_of member(table_);
    if (!table_.synchronize()) return;
    const bench::workers searching = searchers(table_, 1);
    const resizer resizing(table_);
    bench::percentiles latencies;
    const auto over = clock::now() + chosen_.time(1s);
    while (latencies.count() < 3 || clock::now() < over) {
      std::this_thread::sleep_for(100us);
      const auto asked = clock::now();
      table_.synchronize();
      latencies.add(clock::now() - asked);
    }
    found_.latency("Grace period while a table is resized", latencies);
  }

 private:
  bench::lookup_table& table_;
  bench::effort chosen_;
  bench::figures& found_;
};

void measure(const bench::lookup_table_maker& maker, bench::effort chosen, bench::figures& found) {
  const auto table = maker.make(elements);
  measurement of(*table, chosen, found);
  of.lookups(1);
  of.lookups(2);
  of.lookups_while_resizing(1);
  of.lookups_while_resizing(2);
  of.grace_periods_while_resizing();
}

const bench::registration here("hash_table", [] {
  return bench::benchmark_of(description, bench::all_lookup_tables(), measure);
});

}  // namespace
