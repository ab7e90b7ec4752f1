// SPDX-License-Identifier: Apache-2.0
#include "simulation/advice/contours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "simulation/command/runs.hpp"

namespace readmost::simulation {

namespace {

constexpr double latencies_of_contours[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100};
// Grace periods beside more readers than this take long to simulate.
constexpr unsigned most_threads = 64;

// Medians in cycles of one run.
struct medians {
  double reads = 0;
  double writes = 0;
};

double median_of(const nlohmann::json& of) {
  return of.contains("p50") ? of["p50"].get<double>() : 0;
}

std::vector<medians> simulate(const char* name, const machine_description& on,
                              std::initializer_list<unsigned> threads, unsigned processes) {
  const variation plain{"", on};
  std::vector<run> runs;
  for (const unsigned each : threads) {
    workload_options how;
    how.threads = each;
    how.writes_in = 2;
    runs.push_back({&all_contenders().front(), &plain, how});
  }
  std::vector<medians> made;
  execute(find_workload(name), runs, processes, [&](std::size_t, const nlohmann::json& result) {
    made.push_back({median_of(result["reads"]), median_of(result["writes"])});
  });
  return made;
}

double mean_transfer(const machine_description& on) {
  double sum = 0;
  for (unsigned other = 1; other < on.cpus(); ++other) {
    sum += on.cycles(on.transfer_between(0, other));
  }
  return on.cpus() > 1 ? sum / (on.cpus() - 1) : 0;
}

contour_plot plot(std::string title, std::string x) {
  return {std::move(title), std::move(x), {}};
}

}  // namespace

synchronization_costs costs_of(const machine_description& on, unsigned processes) {
  synchronization_costs made;
  made.local = on.cycles(on.hit + on.atomic + on.store);
  made.transfer = mean_transfer(on);
  const medians one = simulate("callbacks", on, {1}, processes).front();
  made.read = one.reads;
  made.retire = one.writes;
  const unsigned many = std::min(on.cpus(), most_threads);
  const std::vector<medians> grace = simulate("grace-period", on, {1, many}, processes);
  made.grace = grace.front().writes;
  if (many > 1) {
    // As in the benchmark: the version goes to each reader, and its record's line here and back.
    constexpr double lines = 3;
    const double further = std::max(grace.back().writes - made.grace, 0.0) / (many - 1);
    made.grace_work = std::max(further - lines * made.transfer, 0.0);
    if (made.transfer > 0) made.grace_lines = (further - made.grace_work) / made.transfer;
  }
  return made;
}

contour_set contours_of(const machine_description& on, const synchronization_costs& costs) {
  contour_set made{on.name, on.cpus(), costs, {}, {}};
  for (const bool by_cpus : {true, false}) {
    for (const double rate : contour_rates) {
      contour_plot& one = made.plots.emplace_back(
          plot(fmt::format("{:g} updates per CPU and grace period, by {}", rate,
                           by_cpus ? "CPUs" : "latency"),
               by_cpus ? "CPUs" : "latency between CPUs, times the machine's"));
      for (const char* const name : comparisons) {
        contour& drawn = one.contours.emplace_back(contour{name, {}});
        if (by_cpus) {
          for (const double cpus : contour_cpus) {
            drawn.points.emplace_back(cpus, breakeven_of(name, costs, cpus, rate));
          }
        } else {
          for (const double times : latencies_of_contours) {
            drawn.points.emplace_back(
                times, breakeven_of(name, with_transfers(costs, times), on.cpus(), rate));
          }
        }
      }
    }
  }
  return made;
}

double region_of_rcu(const contour_set& of, double rate) {
  return breakeven_of(comparisons[0], of.costs, of.cpus, rate);
}

nlohmann::json as_json(const contour_set& of) {
  nlohmann::json made{{"machine", of.machine},
                      {"cpus", of.cpus},
                      {"costs",
                       {{"local", of.costs.local},
                        {"transfer", of.costs.transfer},
                        {"read", of.costs.read},
                        {"retire", of.costs.retire},
                        {"grace", of.costs.grace},
                        {"grace_work", of.costs.grace_work},
                        {"grace_lines", of.costs.grace_lines}}},
                      {"plots", nlohmann::json::array()},
                      {"locks", nlohmann::json::array()}};
  for (const contour_plot& each : of.plots) {
    nlohmann::json curves = nlohmann::json::array();
    for (const contour& one : each.contours) {
      curves.push_back({{"name", one.name}, {"points", one.points}});
    }
    made["plots"].push_back({{"title", each.title}, {"x", each.x}, {"curves", curves}});
  }
  for (const contour_mark& each : of.marks) {
    made["locks"].push_back({{"lock", each.name}, {"cpus", each.cpus}, {"share", each.share}});
  }
  return made;
}

}  // namespace readmost::simulation
