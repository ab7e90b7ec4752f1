#include "evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "child.hpp"
#include "environment.hpp"
#include "failure.hpp"
#include "program_file.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* bench = "bench";
constexpr const char* report = "report";
constexpr const char* folder_variable = "READMOST_EVALUATION";
constexpr const char* python_variable = "READMOST_PYTHON";
// Where the distribution's packages are, whatever other python comes first in the path.
constexpr const char* system_python = "/usr/bin/python3";

struct needed_module {
  const char* name;
  const char* debian_package;
};

constexpr std::array bench_modules{needed_module{"tqdm", "python3-tqdm"},
                                   needed_module{"jsonschema", "python3-jsonschema"}};
constexpr std::array report_modules{needed_module{"jinja2", "python3-jinja2"},
                                    needed_module{"jsonschema", "python3-jsonschema"}};

std::vector<needed_module> modules_for(const std::string& command) {
  if (command == report) return {report_modules.begin(), report_modules.end()};
  return {bench_modules.begin(), bench_modules.end()};
}

fs::path folder_of_this_program() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw failure(exit_status::own_failure,
                  fmt::format("cannot tell where this program lies (/proc/self/exe: {}); set {} to "
                              "the folder evaluation of the sources",
                              error.message(), folder_variable));
  }
  return executable.parent_path();
}

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
        exit_status::own_failure,
        fmt::format("the evaluation is not at '{}'{}; install readmost whole, or set {} to "
                    "the folder evaluation of the sources",
                    package.string(),
                    asked.empty() ? "" : fmt::format(" (from {})", folder_variable),
                    folder_variable));
  }
  return package;
}

// Of the modules, those that the interpreter has not; it prints them line by line.
std::vector<needed_module> missing_modules(const fs::path& python,
                                           const std::vector<needed_module>& needed,
                                           const environment& env) {
  std::vector<std::string> words{"python3", "-c",
                                 "import importlib.util, sys\n"
                                 "for name in sys.argv[1:]:\n"
                                 "    print(name, importlib.util.find_spec(name) is not None)"};
  for (const needed_module& one : needed) words.emplace_back(one.name);
  signal_watch signals;
  const child_result run = run_child(python, std::move(words), env, {20s, 10'000}, signals);
  if (run.how == child_result::ending::interrupted) {
    throw failure(exit_status::signal_base + run.code, "interrupted");
  }
  std::vector<needed_module> missing;
  for (const needed_module& one : needed) {
    if (run.output.find(fmt::format("{} True\n", one.name)) == std::string::npos) {
      missing.push_back(one);
    }
  }
  return missing;
}

// The first python3 that can do it: that of READMOST_PYTHON, or that of the path, or the system's.
fs::path find_python(const std::string& command, const environment& env) {
  const std::string asked = env.get(python_variable).value_or("");
  const std::vector<std::string> names = asked.empty()
                                             ? std::vector<std::string>{"python3", system_python}
                                             : std::vector<std::string>{asked};
  const std::vector<needed_module> needed = modules_for(command);
  std::string problem;
  for (const std::string& name : names) {
    fs::path python;
    try {
      python = find_program(name, env);
    } catch (const failure&) {
      problem = fmt::format(
          "there is no program '{}', which it is written for; install python3, or "
          "set {} to an interpreter",
          name, python_variable);
      continue;
    }
    const std::vector<needed_module> missing = missing_modules(python, needed, env);
    if (missing.empty()) return python;
    std::vector<std::string> modules, packages;
    for (const needed_module& one : missing) {
      modules.emplace_back(one.name);
      packages.emplace_back(one.debian_package);
    }
    problem = fmt::format(
        "'{}' has no {}; install it with 'scripts/setup' in the sources or 'apt-get "
        "install {}', or set {} to an interpreter that has it",
        python.string(), fmt::join(modules, ", "), fmt::join(packages, " "), python_variable);
  }
  throw failure(exit_status::own_failure, problem);
}

}  // namespace

void add_evaluation(CLI::App& readmost) {
  readmost.add_subcommand(bench)->description(
      "Measure the figures of the papers on this machine.\n");
  readmost.add_subcommand(report)->description(
      "Show what bench measured, figure by figure, as one HTML file.\n");
}

bool is_evaluation(const command_line& line) {
  return !line.own.empty() && (line.own.front() == bench || line.own.front() == report);
}

void evaluate(const command_line& line) {
  environment env;
  const fs::path programs = folder_of_this_program();
  const fs::path package = find_package(env, programs);
  const fs::path python = find_python(line.own.front(), env);
  env.set("READMOST_BENCH_PROGRAMS", programs.string());
  env.set("READMOST_BENCH_VERSION", READMOST_VERSION);
  env.set("READMOST_BENCH_COMPILER", READMOST_COMPILER);
  env.set("READMOST_BENCH_BUILD_TYPE", READMOST_BUILD_TYPE);
  // -B: nothing is written beside the sources.
  std::vector<std::string> words{"python3", "-B", package.string()};
  words.insert(words.end(), line.own.begin(), line.own.end());
  if (line.separated) words.emplace_back("--");
  words.insert(words.end(), line.program.begin(), line.program.end());
  execve(python.c_str(), argument_pointers(words).data(), env.pointers().data());
  throw failure(exit_status::own_failure,
                fmt::format("cannot run '{}': {}", python.string(), std::strerror(errno)));
}

}  // namespace readmost::command
