// SPDX-License-Identifier: Apache-2.0
#include "simulation/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace readmost::simulation {

namespace {

// Whether the machine has such a latency: one between CPUs needs CPUs at that distance.
bool is_of(const machine_description& machine, const std::string& name) {
  if (name == "latency.same_core") return machine.threads_per_core > 1;
  if (name == "latency.same_cluster") return machine.cores_per_cluster > 1;
  if (name == "latency.same_socket") return machine.clusters_per_socket > 1;
  if (name == "latency.other_socket") return machine.sockets > 1;
  return name != "scheduler.slice";
}

}  // namespace

std::vector<variation> variations_of(const machine_description& machine, unsigned percent) {
  std::vector<variation> all{{"", machine}};
  std::vector<std::string> varied;
  machine_description as_it_is = machine;
  for_each_time(as_it_is, [&](const std::string& name, const duration& time) {
    if (time != 0 && is_of(machine, name)) varied.push_back(name);
  });
  const auto vary = [&](const std::string& name, auto change) {
    for (const bool larger : {false, true}) {
      variation& made =
          all.emplace_back(fmt::format("{} {}{}%", name, larger ? '+' : '-', percent), machine);
      change(made.machine, 1 + (larger ? 0.01 : -0.01) * percent);
    }
  };
  for (const std::string& name : varied) {
    vary(name, [&name](machine_description& of, double factor) {
      for_each_time(of, [&](const std::string& each, duration& time) {
        if (each == name) time = static_cast<duration>(static_cast<double>(time) * factor);
      });
      of.transfer[0] = of.hit;
    });
  }
  if (machine.kept != 0) {
    vary("kept",
         [](machine_description& of, double factor) { of.kept = std::min(of.kept * factor, 1.0); });
  }
  constexpr double usual_spread = 0.1;
  const double spread = machine.spread == 0 ? usual_spread : 0;
  all.emplace_back(fmt::format("spread {}", spread), machine).machine.spread = spread;
  return all;
}

ranking rank(std::vector<standing> all, bool more_is_better) {
  const auto is_ahead = [more_is_better](double a, double b) {
    return more_is_better ? a > b : a < b;
  };
  std::ranges::sort(all, [&](const standing& a, const standing& b) {
    if (is_ahead(a.reached.front(), b.reached.front())) return true;
    return a.reached.front() == b.reached.front() && a.name < b.name;
  });
  ranking made;
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (std::size_t k = 0; k < all[i].reached.size(); ++k) {
      if (is_ahead(all[i - 1].reached[k], all[i].reached[k])) continue;
      made.open.push_back({all[i - 1].name, all[i].name, k});
      break;
    }
  }
  made.order = std::move(all);
  return made;
}

}  // namespace readmost::simulation
