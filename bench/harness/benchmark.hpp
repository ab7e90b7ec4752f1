// SPDX-License-Identifier: Apache-2.0
// The parts of a benchmark. One process of a benchmark program measures one turn of one contender
// and prints the figures as JSON. The harness in evaluation/, behind `readmost bench`, starts a
// process for each turn, rotates the contenders, repeats the turns and aggregates their figures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/options.hpp"
#include "harness/percentiles.hpp"

namespace bench {

struct figure {
  std::string table;
  std::string name;
  std::string unit;
  std::string better;  // "more", "less" or "neither"
  double value = 0;
  std::optional<double> x = {};  // its place on the axis, if it is a point of a curve
};

// The figures of one turn.
class figures {
 public:
  void less_is_better(std::string_view table, std::string_view name, std::string_view unit,
                      double value);
  void more_is_better(std::string_view table, std::string_view name, std::string_view unit,
                      double value);
  // A point of a curve, at the place `x` on its axis.
  void point(std::string_view table, double x, std::string_view better, std::string_view unit,
             double value);
  // A figure that is not compared.
  void neutral(std::string_view table, std::string_view name, std::string_view unit, double value);
  // Median, 99th percentile and maximum of latencies, and their number.
  void latency(std::string_view table, percentiles& of);

  const std::vector<figure>& rows() const { return rows_; }

 private:
  void add(std::string_view table, std::string_view name, std::string_view unit,
           std::string_view better, double value);

  std::vector<figure> rows_;
};

// The output of the process.
std::string json_of_turn(const std::string& contender, const figures& found);

struct benchmark {
  std::string description;
  std::vector<std::string> contenders;  // Readmost's first
  // Measures one turn of the contender.
  std::function<void(const std::string& contender, effort, figures&)> measure;
  std::function<void(CLI::App&)> add_options = {};
};

// Adds a benchmark to the program that the object is linked into. make() is called only in a
// process that runs this benchmark.
class registration {
 public:
  registration(std::string name, benchmark (*make)());
};

// For benchmarks without options of their own.
struct no_options {
  void add_to(CLI::App&) {}
};

// A benchmark of every element of `all`: pointers to objects, or objects, that have a name.
// measure(contender, options, effort, figures) measures a turn; `options` may be left out.
template <class Options = no_options, class List, class Measure>
benchmark benchmark_of(std::string description, List all, Measure measure) {
  const auto name_of = [](const auto& one) -> std::string {
    if constexpr (requires { one->name(); }) {
      return one->name();
    } else {
      return one.name;
    }
  };
  const auto contender = [](const auto& one) -> auto& {
    if constexpr (requires { *one; }) {
      return *one;
    } else {
      return one;
    }
  };
  const auto list = std::make_shared<const List>(std::move(all));
  const auto chosen = std::make_shared<Options>();
  benchmark made{.description = std::move(description), .contenders = {}, .measure = {}};
  for (const auto& one : *list) made.contenders.push_back(name_of(one));
  made.measure = [=](const std::string& name, effort much, figures& found) {
    for (const auto& one : *list) {
      if (name_of(one) != name) continue;
      auto& measured = contender(one);
      if constexpr (std::is_invocable_v<Measure, decltype(measured), effort, figures&>) {
        measure(measured, much, found);
      } else {
        measure(measured, *chosen, much, found);
      }
    }
  };
  made.add_options = [chosen](CLI::App& app) { chosen->add_to(app); };
  return made;
}

}  // namespace bench
