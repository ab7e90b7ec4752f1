// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "commands.hpp"
#include "failure.hpp"

namespace readmost::command {
namespace {

int execute(const command_line& line) {
  if (line.command == "run") run(line.run, line.program);
  if (line.command == "compare") return compare(line.compare, line.program);
  if (line.command == "top") return top(line.top);
  if (line.command == "holders") return holders(line.holders);
  if (line.command == "doctor") return doctor(line.doctor);
  if (line.command == "attach") return attach(line.attach);
  if (line.command == "simulate" || line.command == "advise") {
    run_built_program("readmost-" + line.command, line.words);
  }
  evaluate(line.words);
}

int report(const command_line& line, const char* message, int status) {
  fmt::print(stderr, "readmost{}{}: {}\n", line.command.empty() ? "" : " ", line.command, message);
  const bool is_doctor = line.command == "doctor" && status == exit_status::own_failure;
  return is_doctor ? exit_status::cannot_examine : status;
}

// A word in each line. Nobody reads messages here.
int complete(const std::vector<std::string>& words) try {
  for (const std::string& word : completions(words)) fmt::print("{}\n", word);
  return 0;
} catch (const std::exception&) {
  return exit_status::own_failure;
}

}  // namespace
}  // namespace readmost::command

int main(int argc, char** argv) {
  // Asked by the shells' completions.
  if (argc > 1 && std::string_view(argv[1]) == "--complete") {
    return readmost::command::complete({argv + 2, argv + argc});
  }
  readmost::command::command_line line;
  try {
    return readmost::command::parse(argc, argv, line) ? readmost::command::execute(line) : 0;
  } catch (const readmost::command::failure& problem) {
    return readmost::command::report(line, problem.what(), problem.status);
  } catch (const std::exception& problem) {
    return readmost::command::report(line, problem.what(),
                                     readmost::command::exit_status::own_failure);
  }
}
