#include <exception>
#include <string>

#include "command_line.hpp"
#include "commands.hpp"
#include "failure.hpp"

namespace readmost::command {
namespace {

int execute(const command_line& line) {
  if (line.command == "run") run(line.run, line.program);
  if (line.command == "compare") return compare(line.compare, line.program);
  if (line.command == "top") return top(line.top);
  if (line.command == "doctor") return doctor(line.doctor);
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

}  // namespace
}  // namespace readmost::command

int main(int argc, char** argv) {
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
