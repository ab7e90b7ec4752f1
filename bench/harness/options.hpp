// Options of benchmarks. Benchmarks include this instead of CLI11, which takes seconds to compile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

// How long to measure.
struct effort {
  bool quick = false;

  std::chrono::nanoseconds time(std::chrono::nanoseconds usual) const {
    return quick ? std::min<std::chrono::nanoseconds>(usual / 20, std::chrono::milliseconds(20))
                 : usual;
  }
  unsigned times(unsigned usual) const { return quick ? std::max(usual / 100, 3U) : usual; }
};

// --seconds, how long one figure or point is measured.
class seconds_option {
 public:
  void add_to(CLI::App& app);
  // The time that the command line asks for, else the usual or the quick one.
  std::chrono::nanoseconds point(effort chosen, std::chrono::nanoseconds usual) const;

 private:
  std::optional<double> given_;
};

// --threads, the numbers of threads that are measured one after another.
class threads_option {
 public:
  threads_option() = default;
  explicit threads_option(std::vector<unsigned> usual) : usual_(std::move(usual)) {}

  void add_to(CLI::App& app, const std::string& what = "Numbers of threads to measure");
  // The numbers that the command line asks for, else the usual ones; if quick, the least and the
  // greatest of these.
  std::vector<unsigned> counts(effort chosen) const;

 private:
  std::vector<unsigned> usual_{1, 2, 4, 8};
  std::vector<unsigned> given_;
};

}  // namespace bench
