#include "comparison.hpp"

#include <fmt/core.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>
#include <utility>

#include "comparison_detail.hpp"
#include "second_thread.hpp"

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

void figures::told(std::string_view table, std::string_view name, std::string_view unit,
                   double value) {
  add(table, name, unit, "neither", value);
}

void figures::latency(std::string_view table, percentiles& of) {
  less_is_better(table, "median", "ns", of.median());
  less_is_better(table, "p99", "ns", of.p99());
  less_is_better(table, "max", "ns", of.highest());
  told(table, "measured", "times", static_cast<double>(of.count()));
}

void figures::add(std::string_view table, std::string_view name, std::string_view unit,
                  std::string_view better, double value) {
  rows_.push_back(
      {std::string(table), std::string(name), std::string(unit), std::string(better), value});
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

namespace comparison_detail {

nlohmann::json rows_of(const figures& found) {
  nlohmann::json rows = nlohmann::json::array();
  for (const figure& one : found.rows()) {
    rows.push_back({{"table", one.table},
                    {"name", one.name},
                    {"unit", one.unit},
                    {"better", one.better},
                    {"value", one.value}});
    if (one.x) rows.back()["x"] = *one.x;
  }
  return rows;
}

std::string given_options(const CLI::App& app, std::size_t first) {
  const std::vector<const CLI::Option*> options = app.get_options();
  std::string text;
  for (std::size_t i = first; i < options.size(); ++i) {
    const CLI::Option& option = *options[i];
    if (option.empty()) continue;
    text += " --" + option.get_lnames().at(0);
    if (option.get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option.results()) text += " " + quoted(value);
  }
  return text;
}

nlohmann::json gather(const std::vector<nlohmann::json>& turns) {
  nlohmann::json rows = nlohmann::json::array();
  for (const nlohmann::json& turn : turns) {
    for (const nlohmann::json& found : turn.at("rows")) {
      nlohmann::json* row = nullptr;
      for (nlohmann::json& one : rows) {
        if (one["contender"] == turn["contender"] && one["table"] == found["table"] &&
            one["name"] == found["name"]) {
          row = &one;
        }
      }
      if (row == nullptr) {
        rows.push_back(found);
        row = &rows.back();
        row->erase("value");
        (*row)["contender"] = turn["contender"];
        (*row)["values"] = nlohmann::json::array();
      }
      (*row)["values"].push_back(found["value"]);
    }
  }
  return rows;
}

namespace {

// How many times as good as `theirs` the figures of `ours` are: median and spread over the turns,
// each compared with the same turn of the other.
nlohmann::json ratios(const nlohmann::json& ours, const nlohmann::json& theirs) {
  percentiles found;
  for (std::size_t i = 0; i < std::min(ours["values"].size(), theirs["values"].size()); ++i) {
    double mine = ours["values"][i];
    double its = theirs["values"][i];
    if (ours["better"] == "less") std::swap(mine, its);
    if (its > 0) found.add_ns(mine / its);
  }
  if (found.count() == 0) return nullptr;
  return {{"median", found.median()}, {"lowest", found.at(0)}, {"highest", found.highest()}};
}

}  // namespace

void summarize(nlohmann::json& rows, const std::string& ours) {
  for (nlohmann::json& row : rows) {
    percentiles values;
    for (const double value : row["values"]) values.add_ns(value);
    row["median"] = values.median();
    row["lowest"] = values.at(0);
    row["highest"] = values.highest();
  }
  for (nlohmann::json& row : rows) {
    if (row["contender"] == ours || row["better"] == "neither") continue;
    for (const nlohmann::json& mine : rows) {
      if (mine["contender"] == ours && mine["table"] == row["table"] &&
          mine["name"] == row["name"]) {
        row["readmost_times_as_good"] = ratios(mine, row);
      }
    }
  }
}

}  // namespace comparison_detail

namespace {

using namespace comparison_detail;

struct settings {
  std::vector<std::string> only;
  unsigned turns = 0;
  bool list = false;
  effort chosen;
  std::string json;

  unsigned all_turns() const {
    if (turns != 0) return turns;
    return chosen.quick ? 1 : 5;
  }
};

nlohmann::json machine() {
  utsname system{};
  uname(&system);
  return {{"processors", readmost::detail::platform::usable_cpus()},
          {"kernel", system.release},
          {"architecture", system.machine}};
}

nlohmann::json measure_here(const comparison& what, const std::string& contender, effort chosen) {
  const second_thread sleeper;
  figures found;
  what.measure(contender, chosen, found);
  return {{"contender", contender}, {"clock_ns", clock_cost()}, {"rows", rows_of(found)}};
}

// `more` are further options, for a shell.
nlohmann::json measure_apart(const std::string& contender, effort chosen, const std::string& more) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format("{} --turn-of {}{}{}", quoted(self), quoted(contender),
                                          chosen.quick ? " --quick" : "", more);
  FILE* const output = popen(command.c_str(), "re");
  if (output == nullptr) {
    throw std::runtime_error(fmt::format("'{}' cannot be started: {}", command, strerror(errno)));
  }
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t length = std::fread(part.data(), 1, part.size(), output)) {
    text.append(part.data(), length);
  }
  const int status = pclose(output);
  if (status != 0) {
    throw std::runtime_error(
        WIFSIGNALED(status) ? fmt::format("'{}' was ended by signal {}", command, WTERMSIG(status))
                            : fmt::format("'{}' failed: status {}", command, WEXITSTATUS(status)));
  }
  return nlohmann::json::parse(text);
}

void print(const nlohmann::json& rows) {
  std::vector<std::string> tables;
  for (const nlohmann::json& row : rows) {
    const auto table = row["table"].get<std::string>();
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  for (const std::string& table : tables) {
    fmt::print("{}\n", table);
    for (const nlohmann::json& row : rows) {
      if (row["table"] != table) continue;
      fmt::print(
          "  {:29} {:>38} {:>12.5g}", row["contender"].get<std::string>(),
          fmt::format("{}, {}", row["name"].get<std::string>(), row["unit"].get<std::string>()),
          row["median"].get<double>());
      if (row["values"].size() > 1) {
        fmt::print("  ({:.5g} to {:.5g})", row["lowest"].get<double>(),
                   row["highest"].get<double>());
      }
      fmt::print("\n");
    }
  }
}

void write(const std::string& path, const nlohmann::json& report) {
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  file.close();
  if (!file) {
    throw std::runtime_error(
        fmt::format("--json {} cannot be written ({}); name a file in a folder that exists", path,
                    strerror(errno)));
  }
}

int run(int argc, char** argv, const comparison& what) {
  settings chosen;
  std::string turn_of;
  CLI::App app{what.description};
  app.add_option("--only", chosen.only, "Contenders; without it all of them")
      ->check(CLI::IsMember(what.contenders));
  app.add_option("--turns", chosen.turns, "How often each contender is measured (default: 5)")
      ->check(CLI::Range(1U, 10'000U));
  app.add_flag("--quick", chosen.chosen.quick, "One short turn: shows that everything works");
  app.add_flag("--list", chosen.list, "Print the names of the contenders and measure nothing");
  app.add_option("--json", chosen.json, "Also write every figure to this file");
  app.add_option("--turn-of", turn_of, "Measure this contender once, here, and print JSON")
      ->check(CLI::IsMember(what.contenders));
  const std::size_t common_options = app.get_options().size();
  if (what.add_options) what.add_options(app);
  CLI11_PARSE(app, argc, argv);

  if (chosen.list) {
    for (const std::string& name : what.contenders) fmt::print("{}\n", name);
    return 0;
  }
  if (!turn_of.empty()) {
    std::cout << measure_here(what, turn_of, chosen.chosen).dump() << '\n';
    return 0;
  }
  const std::vector<std::string>& contenders = chosen.only.empty() ? what.contenders : chosen.only;
  const std::string more = given_options(app, common_options);
  std::vector<nlohmann::json> turns;
  for (unsigned turn = 0; turn < chosen.all_turns(); ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Another one begins each time: nobody always follows the same neighbour.
      turns.push_back(
          measure_apart(contenders[(i + turn) % contenders.size()], chosen.chosen, more));
    }
  }
  nlohmann::json rows = gather(turns);
  summarize(rows, what.contenders.front());
  print(rows);
  if (!chosen.json.empty()) {
    percentiles clock;
    for (const nlohmann::json& turn : turns) clock.add_ns(turn["clock_ns"]);
    write(chosen.json, {{"program", what.program},
                        {"machine", machine()},
                        {"clock_ns", clock.median()},
                        {"quick", chosen.chosen.quick},
                        {"turns", chosen.all_turns()},
                        {"ours", what.contenders.front()},
                        {"rows", rows}});
  }
  return 0;
}

}  // namespace

int compare(int argc, char** argv, const comparison& what) {
  try {
    return run(argc, argv, what);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", what.program, error.what());
    return 1;
  }
}

}  // namespace bench
