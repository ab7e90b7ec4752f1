// SPDX-License-Identifier: Apache-2.0
#include "simulation/command/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <string>

namespace readmost::simulation {

namespace {

using nlohmann::json;

std::string number_or_dash(const json& of, const char* key) {
  return of.contains(key) ? fmt::format("{:.0f}", of[key].get<double>()) : "-";
}

// Where most of the time went, with shares.
std::string main_spendings(const json& of) {
  std::vector<std::pair<double, std::string>> all;
  for (const auto& [name, share] : of["spent"].items()) all.emplace_back(share, name);
  std::ranges::sort(all, std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < 2 && all[i].first >= 0.05; ++i) {
    text += fmt::format("{}{:.0f}% {}", i == 0 ? "" : ", ", 100 * all[i].first, all[i].second);
  }
  return text;
}

// One line for what the locks reached, and one for each pair whose order is open.
void print_order(const char* what, std::vector<standing> all, bool more_is_better,
                 const std::vector<variation>& variations) {
  const ranking found = rank(std::move(all), more_is_better);
  fmt::print("  {}:", what);
  for (std::size_t i = 0; i < found.order.size(); ++i) {
    const standing& each = found.order[i];
    const auto [low, high] = std::ranges::minmax(each.reached);
    const bool is_open = i != 0 && std::ranges::any_of(found.open, [&](const open_pair& pair) {
                           return pair.second == each.name;
                         });
    fmt::print(" {}{} {:.4g} ({:.4g} to {:.4g})",
               i == 0    ? ""
               : is_open ? "~ "
                         : "> ",
               each.name, each.reached.front(), low, high);
  }
  fmt::print("\n");
  for (const open_pair& pair : found.open) {
    const std::string& name = variations[pair.variation].name;
    fmt::print("    open: {} and {}, {}{}\n", pair.first, pair.second,
               name.empty() ? "equal on the machine as it is" : "with ", name);
  }
}

}  // namespace

double millions_a_second(const json& of, const char* kind) {
  return of[kind]["count"].get<double>() / of["nanoseconds"].get<double>() * 1000;
}

void print_head(const machine_description& on, const workload& what) {
  fmt::print("{}: {} CPUs, {} GHz; {}. Times in cycles; simulated, not measured.\n", on.name,
             on.cpus(), on.ghz, what.what);
  fmt::print("{:20} {:>7} {:>10} {:>7} {:>8} {:>10} {:>8} {:>9} {:>9}\n", "", "threads",
             "M reads/s", "p50", "p99", what.subject.empty() ? "M writes/s" : "M updates/s", "p50",
             "p99", "max");
}

// A cache line, and the places in the sources that waited for it longest.
void print_line(const json& line) {
  constexpr std::size_t most = 5;
  const double all = line["waited"].get<double>();
  fmt::print("    {:>9} transfers, {:.0f} cycles waited:", line["transfers"].get<std::uint64_t>(),
             all);
  std::size_t printed = 0;
  for (const json& place : line["places"]) {
    if (printed++ == most) break;
    fmt::print(" {} {:.0f}% ({})", place["place"].get<std::string>(),
               100 * place["waited"].get<double>() / all, place["transfers"].get<std::uint64_t>());
  }
  fmt::print("\n");
}

void print_row(const json& of, bool with_lines) {
  fmt::print("{:20} {:>7} {:>10.2f} {:>7} {:>8} {:>10.4f} {:>8} {:>9} {:>9}  {}\n",
             of["lock"].get<std::string>(), of["threads"].get<unsigned>(),
             millions_a_second(of, "reads"), number_or_dash(of["reads"], "p50"),
             number_or_dash(of["reads"], "p99"), millions_a_second(of, "writes"),
             number_or_dash(of["writes"], "p50"), number_or_dash(of["writes"], "p99"),
             number_or_dash(of["writes"], "max"), main_spendings(of));
  if (with_lines) {
    for (const json& line : of["lines"]) print_line(line);
  }
  std::fflush(stdout);
}

void print_orders(const std::vector<json>& results, const std::vector<variation>& variations,
                  unsigned percent) {
  fmt::print("Orders, with each latency {}% smaller and larger, one at a time ({} runs a lock):\n",
             percent, variations.size());
  struct standings {
    std::vector<standing> operations;
    std::vector<standing> writes;
  };
  std::map<unsigned, standings> by_threads;
  const auto of_lock = [](std::vector<standing>& all, const std::string& name) -> auto& {
    const auto found = std::ranges::find(all, name, &standing::name);
    return found != all.end() ? found->reached : all.emplace_back(name).reached;
  };
  for (const json& each : results) {
    standings& here = by_threads[each["threads"].get<unsigned>()];
    const std::string lock = each["lock"];
    of_lock(here.operations, lock)
        .push_back(millions_a_second(each, "reads") + millions_a_second(each, "writes"));
    // Without a write in the time of a run, the wait was longer than that.
    const json& writes = each["writes"];
    of_lock(here.writes, lock)
        .push_back(writes.contains("p50") ? writes["p50"].get<double>()
                                          : std::numeric_limits<double>::infinity());
  }
  for (const auto& [threads, here] : by_threads) {
    fmt::print("{} thread{}\n", threads, threads == 1 ? "" : "s");
    print_order("M operations/s", here.operations, true, variations);
    const bool writes = std::ranges::any_of(here.writes, [](const standing& each) {
      return std::ranges::min(each.reached) < std::numeric_limits<double>::infinity();
    });
    if (writes) print_order("median write", here.writes, false, variations);
  }
}

}  // namespace readmost::simulation
