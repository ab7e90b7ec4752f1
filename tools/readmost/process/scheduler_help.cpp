// SPDX-License-Identifier: Apache-2.0
#include "process/scheduler_help.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "process/child.hpp"
#include "process/preload.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

constexpr const char* name = "readmost-scheduled";

// Beside this executable; empty without one.
fs::path helper() {
  std::error_code error;
  const fs::path found = folder_of_this_program("READMOST_LIBRARY") / name;
  return fs::is_regular_file(found, error) ? found : fs::path();
}

}  // namespace

scheduler_answer ask_for_scheduler_help() {
  const fs::path program = helper();
  if (program.empty()) return {false, "readmost-scheduled is not installed"};
  environment env;
  remove_library(env);
  const child_result run =
      run_to_end(program, {name, "--check"}, std::move(env), {std::chrono::seconds(20), 10'000});
  std::string text = run.output.substr(0, run.output.find('\n'));
  if (text.empty()) text = "readmost-scheduled " + run.problem();
  return {run.problem().empty(), text};
}

fs::path with_scheduler_help(std::vector<std::string>& program, environment& env) {
  const fs::path found = helper();
  if (found.empty()) {
    throw failure(
        "--scheduler-help: no '{}' beside this command; build it where libbpf-dev, bpftool and "
        "clang are installed",
        name);
  }
  std::vector<std::string> whole{name, "--preload", env.get("LD_PRELOAD").value_or(""), "--"};
  whole.insert(whole.end(), program.begin(), program.end());
  program = std::move(whole);
  env.unset("LD_PRELOAD");
  return found;
}

}  // namespace readmost::command
