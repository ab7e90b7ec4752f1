#include "harness/options.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
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

void seconds_option::add_to(CLI::App& app) {
  app.add_option("--seconds", given_, "How long one point is measured")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool fits =
            CLI::detail::lexical_cast(text, seconds) && seconds >= 0.001 && seconds <= 3600;
        return fits ? std::string{}
                    : fmt::format("Value {} is not a number from 0.001 to 3600", text);
      });
}

std::chrono::nanoseconds seconds_option::point(effort chosen,
                                               std::chrono::nanoseconds usual) const {
  if (!given_) return chosen.time(usual);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*given_));
}

void threads_option::add_to(CLI::App& app, const std::string& what) {
  app.add_option("--threads", given_, fmt::format("{} (default: {})", what, fmt::join(usual_, " ")))
      ->check(CLI::Range(1U, 1024U));
}

std::vector<unsigned> threads_option::counts(effort chosen) const {
  if (!given_.empty()) return given_;
  if (!chosen.quick || usual_.size() < 3) return usual_;
  return {usual_.front(), usual_.back()};
}

}  // namespace bench
