// SPDX-License-Identifier: Apache-2.0
// The only source of the examples that includes CLI11, which takes seconds to compile.
#include "timed_threads.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <numeric>

namespace examples {
namespace {

// Unlike CLI::Range this refuses "nan".
auto number_between(double least, double most) {
  return [least, most](const std::string& text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc{} && stop == end && number >= least && number <= most)
      return std::string{};
    std::ostringstream problem;
    problem << "'" << text << "' is out of range; give a number from " << least << " to " << most;
    return problem.str();
  };
}

void add(CLI::App& app, const option& one) {
  const auto add_with = [&](auto* value) {
    CLI::Option* added = app.add_option(one.name, *value, one.description)->capture_default_str();
    if constexpr (!std::is_same_v<decltype(value), std::string*>) {
      added->check(number_between(one.least, one.most));
    }
  };
  std::visit(add_with, one.value);
}

}  // namespace

int program::main(int argc, char** argv,
                  const std::function<outcome(const settings&)>& measure) const try {
  settings chosen;
  CLI::App app{description};
  add(app, {"--threads", &chosen.threads, "How many threads work", 1, 1024});
  add(app, {"--seconds", &chosen.seconds, "How long they work", 0.01, 3600});
  for (const option& one : options) add(app, one);
  CLI11_PARSE(app, argc, argv);

  const outcome result = measure(chosen);
  const auto total =
      std::accumulate(result.operations.begin(), result.operations.end(), std::uint64_t{0});
  std::printf("%s: %.0f operations per second%s\n", name,
              static_cast<double>(total) / result.seconds, result.remark.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", name, error.what());
  return 1;
}

}  // namespace examples
