// SPDX-License-Identifier: Apache-2.0
#include "harness/benchmark.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace bench {

void figures::less_is_better(std::string_view table, std::string_view name, std::string_view unit,
                             double value) {
  add(table, name, unit, "less", value);
}

void figures::more_is_better(std::string_view table, std::string_view name, std::string_view unit,
                             double value) {
  add(table, name, unit, "more", value);
}

void figures::point(std::string_view table, double x, std::string_view better,
                    std::string_view unit, double value) {
  add(table, fmt::format("{:g}", x), unit, better, value);
  rows_.back().x = x;
}

void figures::neutral(std::string_view table, std::string_view name, std::string_view unit,
                      double value) {
  add(table, name, unit, "neither", value);
}

void figures::latency(std::string_view table, percentiles& of) {
  less_is_better(table, "median", "ns", of.median());
  less_is_better(table, "p99", "ns", of.p99());
  less_is_better(table, "max", "ns", of.highest());
  neutral(table, "measured", "times", static_cast<double>(of.count()));
}

void figures::add(std::string_view table, std::string_view name, std::string_view unit,
                  std::string_view better, double value) {
  rows_.push_back(
      {std::string(table), std::string(name), std::string(unit), std::string(better), value});
}

std::string json_of_turn(const std::string& contender, const figures& found) {
  nlohmann::json rows = nlohmann::json::array();
  for (const figure& one : found.rows()) {
    rows.push_back({{"table", one.table},
                    {"name", one.name},
                    {"unit", one.unit},
                    {"better", one.better},
                    {"value", one.value}});
    if (one.x) rows.back()["x"] = *one.x;
  }
  return nlohmann::json{{"contender", contender}, {"clock_ns", clock_cost()}, {"rows", rows}}
      .dump();
}

}  // namespace bench
