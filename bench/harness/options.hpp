// SPDX-License-Identifier: Apache-2.0
// Options of benchmarks. Benchmarks include this instead of CLI11, which takes seconds to compile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

// The least and the greatest value of an option.
template <class Number>
struct limits {
  Number least;
  Number greatest;
};
template <class Number>
limits(Number, Number) -> limits<Number>;

// Adds an option to `app`; its default is the present `value`.
void add_option(CLI::App& app, const std::string& name, unsigned& value, const std::string& help,
                std::optional<limits<unsigned>> within = {});
void add_option(CLI::App& app, const std::string& name, std::uint64_t& value,
                const std::string& help, std::optional<limits<std::uint64_t>> within = {});
void add_option(CLI::App& app, const std::string& name, std::vector<unsigned>& values,
                const std::string& help, std::optional<limits<unsigned>> within = {});
void add_option(CLI::App& app, const std::string& name, std::vector<double>& values,
                const std::string& help, std::optional<limits<double>> within = {});
void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& help);
// Powers of two, up to 2 to the power of `most`. The help text does not show the default.
void add_powers_of_two(CLI::App& app, const std::string& name, std::vector<std::size_t>& values,
                       const std::string& help, unsigned most);

// How long to measure, as the command line asks. A benchmark ignores `seconds` if it measures no
// points, and `threads` if it does not sweep numbers of threads.
struct effort {
  bool quick = false;
  std::optional<double> seconds = {};
  std::vector<unsigned> threads = {};

  void add_to(CLI::App& app);

  std::chrono::nanoseconds time(std::chrono::nanoseconds usual) const;
  unsigned times(unsigned usual) const;
  // The length of a point.
  std::chrono::nanoseconds point(std::chrono::nanoseconds usual) const;
  // The numbers of threads to measure one after another; if quick, the least and the greatest.
  std::vector<unsigned> counts(std::vector<unsigned> usual = {1, 2, 4, 8}) const;
};

}  // namespace bench
