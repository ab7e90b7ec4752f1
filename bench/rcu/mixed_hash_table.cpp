// SPDX-License-Identifier: Apache-2.0
// The hash-table mini-benchmark of the RCU paper (Figs. 2, 6 and 27): one table under RCU,
// hazard pointers and locks.
#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>

#include "contenders/rcu/mixed_tables.hpp"
#include "harness/benchmark.hpp"
#include "harness/workers.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Operations per second in a hash table with one element in each bucket, by threads that search "
    "and update (delete, then reinsert) random keys without a pause: searches alone by number of "
    "threads (RCU Figs. 2 and 6), and by the share of updates with a thread for each CPU (Fig. "
    "27). "
    "`ideal` is one thread without synchronization, times the threads that can run at once. RCU "
    "and "
    "hazard pointers guard updates by a spinlock for each bucket. Updates allocate the new element "
    "and free the old one, where necessary later. A search that finds a deleted element, or a "
    "damaged table in the end, is an error.";

constexpr std::initializer_list<double> shares{0, 0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1};

struct options {
  std::vector<std::size_t> buckets{32, 16'384};

  void add_to(CLI::App& app) {
    bench::add_powers_of_two(app, "--buckets", buckets, "Sizes of the table, powers of two", 24);
  }
};

class measurement {
 public:
  measurement(const bench::mixed_table_maker& maker, std::size_t buckets,
              std::chrono::nanoseconds time, bench::figures& found)
      : single_threaded_(maker.single_threaded),
        buckets_(buckets),
        time_(time),
        found_(found),
        table_(maker.make(buckets)) {}

  void searches(unsigned threads) {
    found_.point(fmt::format("Searches, {} buckets", buckets_), threads, "more",
                 "operations per second", operations(threads, 0));
  }
  void mix(unsigned threads, double updates) {
    found_.point(fmt::format("Searches and updates, {} buckets", buckets_), updates, "more",
                 "operations per second", operations(threads, updates));
  }

 private:
  double operations(unsigned threads, double updates) {
    const unsigned used = single_threaded_ ? 1 : threads;
    bench::mixed_result sum;
    std::mutex adding;
    double per_second = 0;
    {
      const bench::workers working(used, [&](const std::atomic<bool>& stopped, unsigned number,
                                             std::atomic<std::uint64_t>& done) {
        const bench::mixed_result result = table_->use(stopped, number, updates, done);
        const std::lock_guard guard(adding);
        sum.wrong += result.wrong;
        sum.misses += result.misses;
      });
      per_second = working.per_second(time_);
    }
    table_->settle();
    check(sum, updates);
    const unsigned at_once = std::min(threads, readmost::detail::platform::usable_cpus());
    return single_threaded_ ? per_second * at_once : per_second;
  }

  void check(const bench::mixed_result& result, double updates) const {
    std::string fault = table_->fault();
    if (result.wrong != 0) fault = "a search found a deleted element";
    if (updates == 0 && result.misses != 0) fault = "a key in the table was not found";
    if (!fault.empty()) throw std::runtime_error(fault);
  }

  bool single_threaded_;
  std::size_t buckets_;
  std::chrono::nanoseconds time_;
  bench::figures& found_;
  std::unique_ptr<bench::mixed_table> table_;
};

void measure(const bench::mixed_table_maker& maker, const options& given, bench::effort chosen,
             bench::figures& found) {
  for (const std::size_t buckets : given.buckets) {
    measurement of(maker, buckets, chosen.point(100ms), found);
    for (const unsigned threads : chosen.counts(bench::thread_counts())) of.searches(threads);
    for (const double share : shares) of.mix(readmost::detail::platform::usable_cpus(), share);
  }
}

const bench::registration here("rcu_hash_table", [] {
  return bench::benchmark_of<options>(description, bench::all_mixed_tables(), measure);
});

}  // namespace
