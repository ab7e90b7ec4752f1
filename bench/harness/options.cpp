// SPDX-License-Identifier: Apache-2.0
#include "harness/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>

namespace bench {

namespace {

template <class Value, class Number>
void add_with_default(CLI::App& app, const std::string& name, Value& value, const std::string& help,
                      const std::optional<limits<Number>>& within) {
  CLI::Option* const option = app.add_option(name, value, help);
  if (within) option->check(CLI::Range(within->least, within->greatest));
  option->capture_default_str();
}

}  // namespace

void add_option(CLI::App& app, const std::string& name, unsigned& value, const std::string& help,
                std::optional<limits<unsigned>> within) {
  add_with_default(app, name, value, help, within);
}

void add_option(CLI::App& app, const std::string& name, std::uint64_t& value,
                const std::string& help, std::optional<limits<std::uint64_t>> within) {
  add_with_default(app, name, value, help, within);
}

void add_option(CLI::App& app, const std::string& name, std::vector<unsigned>& values,
                const std::string& help, std::optional<limits<unsigned>> within) {
  add_with_default(app, name, values, help, within);
}

void add_option(CLI::App& app, const std::string& name, std::vector<double>& values,
                const std::string& help, std::optional<limits<double>> within) {
  add_with_default(app, name, values, help, within);
}

void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
  app.add_flag(name, value, help);
}

void add_powers_of_two(CLI::App& app, const std::string& name, std::vector<std::size_t>& values,
                       const std::string& help, unsigned most) {
  app.add_option(name, values, help)->check([most](const std::string& text) {
    std::size_t count = 0;
    const bool fits = CLI::detail::lexical_cast(text, count) && std::has_single_bit(count) &&
                      count <= (std::size_t{1} << most);
    return fits ? std::string{}
                : fmt::format("Value {} is not a power of two up to 2^{}", text, most);
  });
}

void effort::add_to(CLI::App& app) {
  app.add_flag("--quick", quick, "A short turn: shows that everything works");
  app.add_option("--seconds", seconds, "Length of a point, if the benchmark measures points")
      ->check([](const std::string& text) {
        double given = 0;
        const bool fits = CLI::detail::lexical_cast(text, given) && given >= 0.001 && given <= 3600;
        return fits ? std::string{}
                    : fmt::format("Value {} is not a number from 0.001 to 3600", text);
      });
  app.add_option("--threads", threads, "Numbers of threads, if the benchmark sweeps them")
      ->check(CLI::Range(1U, 1024U));
}

std::chrono::nanoseconds effort::time(std::chrono::nanoseconds usual) const {
  return quick ? std::min<std::chrono::nanoseconds>(usual / 20, std::chrono::milliseconds(20))
               : usual;
}

unsigned effort::times(unsigned usual) const {
  return quick ? std::max(usual / 100, 3U) : usual;
}

std::chrono::nanoseconds effort::point(std::chrono::nanoseconds usual) const {
  if (!seconds) return time(usual);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*seconds));
}

std::vector<unsigned> effort::counts(std::vector<unsigned> usual) const {
  if (!threads.empty()) return threads;
  if (!quick || usual.size() < 3) return usual;
  return {usual.front(), usual.back()};
}

}  // namespace bench
