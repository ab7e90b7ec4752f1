// SPDX-License-Identifier: Apache-2.0
// The main function of a benchmark program: runs the benchmark that the command line names.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <latch>
#include <map>
#include <thread>

#include "harness/benchmark.hpp"

namespace bench {

namespace {

using maker = benchmark (*)();

// A local static, because registrations run before main() in any order.
std::map<std::string, maker>& registered() {
  static std::map<std::string, maker> all;
  return all;
}

// While a process has one thread only, glibc leaves the atomics out of its mutexes: locks made of
// them would be measured without their cost.
struct second_thread {
  ~second_thread() { over.count_down(); }
  std::latch over{1};
  std::jthread thread{[this] { over.wait(); }};
};

int usage(const char* program, bool asked) {
  fmt::print(asked ? stdout : stderr,
             "usage: {} BENCHMARK --list | --turn-of CONTENDER [--quick] [OPTION...]\n"
             "       {} BENCHMARK --help\n"
             "Measures one turn of one contender and prints JSON; 'readmost bench BENCHMARK' takes "
             "the turns.\nBenchmarks:\n",
             program, program);
  for (const auto& [name, make] : registered()) fmt::print(asked ? stdout : stderr, "  {}\n", name);
  return asked ? 0 : 2;
}

int run(const std::string& name, maker make, int argc, char** argv) {
  const benchmark what = make();
  bool list = false;
  effort chosen;
  std::string turn_of;
  CLI::App app{what.description, name};
  auto* const how = app.add_option_group("mode")->require_option(1);
  how->add_flag("--list", list, "Print the names of the contenders");
  how->add_option("--turn-of", turn_of, "Measure one turn of this contender and print JSON")
      ->check(CLI::IsMember(what.contenders));
  chosen.add_to(app);
  if (what.add_options) what.add_options(app);
  CLI11_PARSE(app, argc, argv);

  if (list) {
    for (const std::string& contender : what.contenders) fmt::print("{}\n", contender);
    return 0;
  }
  const second_thread sleeper;
  figures found;
  what.measure(turn_of, chosen, found);
  fmt::print("{}\n", json_of_turn(turn_of, found));
  return 0;
}

}  // namespace

registration::registration(std::string name, benchmark (*make)()) {
  registered().emplace(std::move(name), make);
}

}  // namespace bench

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const auto found = bench::registered().find(name);
  if (found == bench::registered().end()) return bench::usage(argv[0], name == "--help");
  try {
    return bench::run(name, found->second, argc - 1, argv + 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}
