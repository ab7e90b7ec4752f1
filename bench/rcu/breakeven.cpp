// SPDX-License-Identifier: Apache-2.0
// The share of updates up to which RCU is the cheapest (RCU 6.2, Figs. 28 and 29).
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "harness/benchmark.hpp"
#include "machine/costs.hpp"
#include "rcu/rcu_costs.hpp"
#include "simulation/advice/breakeven_model.hpp"

namespace {

namespace model = readmost::simulation;

constexpr const char* description =
    "The share of updates up to which one way to synchronize is cheaper than another in a model: "
    "by number of CPUs (RCU Fig. 28), and for 4 CPUs by memory-latency ratio (Fig. 29), that is "
    "how many times as long as from the largest cache of its own a CPU waits for a line from "
    "farther away; with 0.1 and with 10 updates per CPU and grace period. 0: never cheaper; 1: "
    "always. The paper does not print its formulas; simulation/advice/breakeven_model.hpp derives "
    "those used here. With the costs measured here, and with those of the paper's machine (Table "
    "1). The model has no waits for locks: contention would favour RCU.";

// A machine in the model.
struct machine {
  const char* name;
  bench::synchronization_costs costs;
  double own_cache;  // a hit in the largest cache of a CPU's own
};

constexpr double ratios[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
constexpr double cpus_by_ratio = 4;

void draw(const std::string& pair, const machine& of, bench::figures& found) {
  for (const double rate : model::contour_rates) {
    const std::string what =
        fmt::format("{:g} updates per CPU and grace period, {}", rate, of.name);
    for (const double n : model::contour_cpus) {
      found.point(fmt::format("Break-even share of updates by CPUs, {}", what), n, "neither",
                  "of accesses", model::breakeven_of(pair, of.costs, n, rate));
    }
    for (const double ratio : ratios) {
      // Makes a transfer cost that many cache hits.
      const double times = of.costs.transfer > 0 ? ratio * of.own_cache / of.costs.transfer : 1;
      found.point(
          fmt::format("Break-even share of updates by memory-latency ratio, {}", what), ratio,
          "neither", "of accesses",
          model::breakeven_of(pair, model::with_transfers(of.costs, times), cpus_by_ratio, rate));
    }
  }
}

void add_costs(const machine& of, bench::figures& found) {
  const std::string table = fmt::format("Costs in the model, {}", of.name);
  const auto add = [&](const char* name, double ns) { found.neutral(table, name, "ns", ns); };
  add("local lock", of.costs.local);
  add("its transfer", of.costs.transfer);
  add("read section", of.costs.read);
  add("retire", of.costs.retire);
  add("grace period of one CPU", of.costs.grace);
  add("grace period, each further CPU",
      of.costs.grace_work + of.costs.grace_lines * of.costs.transfer);
  found.neutral(table, "memory-latency ratio", "times", of.costs.transfer / of.own_cache);
}

void measure(const std::string& pair, bench::effort chosen, bench::figures& found) {
  const bench::sample_count samples{chosen.times(501)};
  const bench::cache_sizes cache = bench::caches();
  const double own_cache =
      bench::cost_of_load(std::max(cache.second / 2, 2 * cache.first), samples);
  const machine here{"this machine", bench::measure_synchronization(samples), own_cache};
  // The second-level cache of Table 1.
  const machine theirs{"the paper's machine", model::pentium_costs(), 12.9};
  for (const machine& one : {here, theirs}) {
    draw(pair, one, found);
    add_costs(one, found);
  }
}

const bench::registration here("rcu_breakeven", [] {
  return bench::benchmark{
      .description = description,
      .contenders = {std::begin(model::comparisons), std::end(model::comparisons)},
      .measure = measure};
});

}  // namespace
