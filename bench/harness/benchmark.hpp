// The main function of programs that measure several contenders alike. Each is measured in a
// process of its own, where nobody else has left threads, memory or habits, and they take turns, so
// that what the machine does meanwhile falls on all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "percentiles.hpp"

namespace bench {

struct figure {
  std::string table;
  std::string name;
  std::string unit;
  std::string better;
  double value = 0;
  std::optional<double> x = {};  // its place on the axis, if it is a point of a curve
};

// What one turn of a contender showed, in rows as bench/run gathers them.
class figures {
 public:
  void less_is_better(std::string_view table, std::string_view name, std::string_view unit,
                      double value);
  void more_is_better(std::string_view table, std::string_view name, std::string_view unit,
                      double value);
  // A point of a curve: `x` is a place on its axis, and `better` is "more", "less" or "neither".
  void point(std::string_view table, double x, std::string_view better, std::string_view unit,
             double value);
  // A figure that is not compared.
  void told(std::string_view table, std::string_view name, std::string_view unit, double value);
  // Rows for median, p99 and maximum.
  void latency(std::string_view table, percentiles& of);

  const std::vector<figure>& rows() const { return rows_; }

 private:
  void add(std::string_view table, std::string_view name, std::string_view unit,
           std::string_view better, double value);

  std::vector<figure> rows_;
};

struct comparison {
  std::string program;
  std::string description;
  std::vector<std::string> contenders;  // ours first
  std::function<void(const std::string& contender, effort, figures&)> measure;
  // Adds options of the program's own, which must take what they are given from where `measure`
  // finds it. Each contender's process gets them as they were given here.
  std::function<void(CLI::App&)> add_options = {};
};

// Returns the exit status.
int compare(int argc, char** argv, const comparison& what);

// As a shell takes it.
std::string quoted(std::string text);

}  // namespace bench
