#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "compare.hpp"
#include "doctor.hpp"
#include "evaluation.hpp"
#include "failure.hpp"
#include "run.hpp"
#include "top.hpp"

namespace readmost::command {
namespace {

constexpr const char* description =
    R"(Readmost makes reader-writer locks whose readers execute no atomic instruction and no fence.
This command puts them under a program as it is, by preloading a library that replaces
pthread_rwlock_*. `run` runs a program that way; `compare` measures what it gains; `top` looks into
one that runs; `doctor` says what this machine has to offer for it; `bench` measures the figures of
the papers here, and `report` shows them.
)";

constexpr const char* footer =
    R"(Examples:
  readmost run -- ./server --port 8080
  readmost run --stats -- ./server --port 8080
  readmost compare -- ./bench
  readmost compare --metric '([0-9.]+) ops/s' -- ./bench --threads 2
  readmost top -p $(pidof server)
  readmost doctor
  readmost bench all && readmost report out.html

Exit status: of `run` the program's own, of `compare` 0 when every run gave a number, of `doctor`
0 when readers can be passive here; 125, 126 and 127 are ours. The help of each command lists them.

Environment: READMOST_LOCK, READMOST_PREFER and READMOST_STATS stand for options that are not
given; READMOST_LIBRARY is the library to preload. See 'readmost run --help'.)";

int report(const std::string& command, const std::string& message, int status) {
  fmt::print(stderr, "{}: {}\n", command, message);
  return status;
}

int dispatch(int argc, char** argv) {
  CLI::App app(description, "readmost");
  app.formatter(std::make_shared<manual_formatter>());
  app.footer(footer);
  app.set_version_flag("--version", "readmost " READMOST_VERSION, "say which version this is");
  app.set_help_flag("-h,--help", "say how to use it");
  app.require_subcommand(1);
  run_options run_with;
  compare_options compare_with;
  top_options top_with;
  doctor_options examine_with;
  const CLI::App* run_command = add_run(app, run_with);
  const CLI::App* compare_command = add_compare(app, compare_with);
  const CLI::App* top_command = add_top(app, top_with);
  const CLI::App* doctor_command = add_doctor(app, examine_with);
  add_evaluation(app);

  const command_line line = split_command_line(argc, argv);
  std::string name = "readmost";
  if (is_evaluation(line)) {
    name += " " + line.own.front();
    try {
      evaluate(line);
    } catch (const failure& problem) {
      return report(name, problem.what(), problem.status);
    }
  }
  try {
    std::vector<std::string> words(line.own.rbegin(), line.own.rend());
    app.parse(std::move(words));
  } catch (const CLI::Success& wish) {
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::string commands =
        fmt::format("the commands are {}", fmt::join(names_of_commands(app), ", "));
    std::string message = error.what();
    if (const auto chosen = app.get_subcommands(); !chosen.empty()) {
      name = "readmost " + chosen.front()->get_name();
    } else if (line.own.empty()) {
      message = "no command is given; " + commands;
    } else {
      message = fmt::format("there is no command or option '{}'; {}", line.own.front(), commands);
    }
    return report(name, fmt::format("{}; see '{} --help'", message, name),
                  *doctor_command ? doctor_status::cannot_examine : exit_status::own_failure);
  }

  name = "readmost " + app.get_subcommands().front()->get_name();
  try {
    if (*top_command) {
      no_program_words(*top_command, line);
      return top(top_with);
    }
    if (*doctor_command) return doctor(*doctor_command, examine_with, line);
    if (*run_command) run(run_with, program_words(*run_command, line));
    return compare(compare_with, program_words(*compare_command, line));
  } catch (const failure& problem) {
    return report(name, problem.what(), problem.status);
  }
}

}  // namespace
}  // namespace readmost::command

int main(int argc, char** argv) {
  try {
    return readmost::command::dispatch(argc, argv);
  } catch (const std::exception& problem) {
    return readmost::command::report("readmost", problem.what(),
                                     readmost::command::exit_status::own_failure);
  }
}
