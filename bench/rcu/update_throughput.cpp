// SPDX-License-Identifier: Apache-2.0
// Updates per second by the number of updates that share a grace period (FCP Fig. 22).
#include <fmt/core.h>

#include "harness/benchmark.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;
using namespace std::chrono_literals;

constexpr const char* description =
    "Updates per second while a thread reads without a pause (FCP Fig. 22). An update replaces "
    "an object by a new one. In batches: after so many updates the thread waits for a grace period "
    "and deletes the replaced objects. In background: each object is retired (rcu_retire with its "
    "default limit, call_rcu); per second as the updating thread sees it, and until all objects "
    "are "
    "reclaimed.";

class measurement {
 public:
  measurement(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found)
      : rcu_(rcu), chosen_(chosen), found_(found) {}

  void in_batches(unsigned size) {
    std::vector<bench::data*> replaced;
    replaced.reserve(size);
    std::uint64_t updates = 0;
    const auto begin = clock::now();
    do {
      for (unsigned i = 0; i < size; ++i) {
        replaced.push_back((*cell_).current.exchange(new bench::data(i)));
      }
      rcu_.synchronize();
      for (bench::data* one : replaced) delete one;
      replaced.clear();
      updates += size;
    } while (clock::now() - begin < chosen_.time(400ms));
    found_.more_is_better("Updates in batches", fmt::format("batches of {}", size),
                          "updates per second", per_second(updates, begin));
  }

  void in_background() {
    const bench::user_of member(rcu_);
    constexpr unsigned between_looks = 64;
    std::uint64_t updates = 0;
    rcu_.retire(nullptr);  // starts the reclaiming thread
    rcu_.barrier();
    const auto begin = clock::now();
    do {
      for (unsigned i = 0; i < between_looks; ++i) rcu_.retire(nullptr);
      rcu_.quiescent();
      updates += between_looks;
    } while (clock::now() - begin < chosen_.time(400ms));
    const double seen = per_second(updates, begin);
    rcu_.barrier();
    found_.more_is_better("Updates in background", "updating", "updates per second", seen);
    found_.more_is_better("Updates in background", "until all is reclaimed", "updates per second",
                          per_second(updates, begin));
  }

  void measure_all() {
    const bench::hot_readers reader(rcu_, *cell_, 1);
    for (const unsigned size : {1U, 3U, 10U, 30U, 100U, 300U, 1000U, 3000U, 10'000U}) {
      in_batches(size);
    }
    in_background();
  }

 private:
  static double per_second(std::uint64_t updates, clock::time_point begin) {
    return static_cast<double>(updates) /
           std::chrono::duration<double>(clock::now() - begin).count();
  }

  bench::rcu_flavor& rcu_;
  bench::effort chosen_;
  bench::figures& found_;
  bench::filled_cell cell_;
};

void measure(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found) {
  measurement(rcu, chosen, found).measure_all();
}

const bench::registration here("update_throughput", [] {
  return bench::benchmark_of(description, bench::all_rcu_flavors(), measure);
});

}  // namespace
