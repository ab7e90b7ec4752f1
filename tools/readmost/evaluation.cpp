// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include "commands.hpp"
#include "failure.hpp"
#include "process/child.hpp"
#include "process/environment.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

constexpr const char* folder_variable = "READMOST_EVALUATION";
constexpr const char* python_variable = "READMOST_PYTHON";
// Has the distribution's modules, whatever other python comes first in the path.
constexpr const char* system_python = "/usr/bin/python3";

// The Python modules of each command; Debian's packages have their names after "python3-".
const std::map<std::string, words> needed_modules{{"bench", {"tqdm", "jsonschema"}},
                                                  {"report", {"jinja2", "jsonschema"}}};

// A build tree has a link in the place where an installation has the folder.
fs::path find_package(const environment& env, const fs::path& programs) {
  const std::string asked = env.get(folder_variable).value_or("");
  const fs::path package =
      (asked.empty() ? programs.parent_path() / READMOST_DATA_DIR / "readmost" / "evaluation"
                     : fs::absolute(asked))
          .lexically_normal();
  std::error_code error;
  if (!fs::is_regular_file(package / "__main__.py", error)) {
    throw failure(
        "no evaluation package at '{}'{}; install all of readmost, or set {} to the folder "
        "evaluation of the sources",
        package.string(), asked.empty() ? "" : fmt::format(" (from {})", folder_variable),
        folder_variable);
  }
  return package;
}

words missing_modules(const fs::path& python, const words& needed, const environment& env) {
  words arguments{"python3", "-c",
                  "import importlib.util, sys\n"
                  "for name in sys.argv[1:]:\n"
                  "    print(name, importlib.util.find_spec(name) is not None)"};
  arguments.insert(arguments.end(), needed.begin(), needed.end());
  const child_result run =
      run_to_end(python, std::move(arguments), env, {std::chrono::seconds(20), 10'000});
  words missing;
  for (const std::string& module : needed) {
    if (run.output.find(module + " True\n") == std::string::npos) missing.push_back(module);
  }
  return missing;
}

// The interpreter that READMOST_PYTHON names, or the first of python3 in the path and the system's
// that has all modules.
fs::path find_python(const std::string& command, const environment& env) {
  const std::string asked = env.get(python_variable).value_or("");
  std::string problem;
  for (const std::string& name : asked.empty() ? words{"python3", system_python} : words{asked}) {
    fs::path python;
    try {
      python = find_program(name, env);
    } catch (const failure&) {
      problem = fmt::format("no program '{}'; install python3, or set {} to an interpreter", name,
                            python_variable);
      continue;
    }
    const words missing = missing_modules(python, needed_modules.at(command), env);
    if (missing.empty()) return python;
    problem = fmt::format(
        "'{}' has no {}; install it with 'scripts/setup' in the sources or 'apt-get install "
        "python3-{}', or set {} to an interpreter that has it",
        python.string(), fmt::join(missing, ", "), fmt::join(missing, " python3-"),
        python_variable);
  }
  throw failure("{}", problem);
}

}  // namespace

void evaluate(const words& own) {
  environment env;
  const fs::path programs = folder_of_this_program(folder_variable);
  const fs::path package = find_package(env, programs);
  const fs::path python = find_python(own.front(), env);
  env.set("READMOST_BENCH_PROGRAMS", programs.string());
  env.set("READMOST_BENCH_VERSION", READMOST_VERSION);
  env.set("READMOST_BENCH_COMPILER", READMOST_COMPILER);
  env.set("READMOST_BENCH_BUILD_TYPE", READMOST_BUILD_TYPE);
  // -B: writes nothing beside the sources.
  words arguments{"python3", "-B", package.string()};
  arguments.insert(arguments.end(), own.begin(), own.end());
  execve(python.c_str(), argument_pointers(arguments).data(), env.pointers().data());
  throw cannot_run(python, errno);
}

}  // namespace readmost::command
