// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "commands.hpp"
#include "failure.hpp"
#include "process/environment.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

constexpr const char* folder_variable = "READMOST_PROGRAMS";

}  // namespace

void run_built_program(const std::string& name, const std::vector<std::string>& own) {
  environment env;
  const std::string asked = env.get(folder_variable).value_or("");
  const std::filesystem::path program =
      (asked.empty() ? folder_of_this_program(folder_variable) : std::filesystem::path(asked)) /
      name;
  if (access(program.c_str(), X_OK) != 0) {
    throw failure(
        "no program '{}'; it is built with the tests: 'make test' in the sources, or "
        "cmake -DBUILD_TESTING=ON",
        program.string());
  }
  std::vector<std::string> arguments = own;
  execve(program.c_str(), argument_pointers(arguments).data(), env.pointers().data());
  throw cannot_run(program, errno);
}

}  // namespace readmost::command
