#include "doctor.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "doctor_page.hpp"
#include "environment.hpp"
#include "examination.hpp"
#include "failure.hpp"
#include "machine_costs.hpp"
#include "machine_facts.hpp"
#include "preload.hpp"
#include "progress.hpp"
#include "pthread_costs.hpp"

namespace readmost::command {
namespace {

using namespace std::chrono_literals;

constexpr const char* only_pthread_option = "--only-pthread";

constexpr const char* description =
    R"(Tell what Readmost can do on this machine.

Asks the kernel and the sandbox for what passive readers need, measures what stores, fences, cache
lines, membarriers and locks cost here, and says in sentences what follows for programs. Takes
about a second, during which it keeps the CPUs busy; other load makes it longer and the figures
worse.
)";

constexpr const char* footer =
    R"(Examples:
  readmost doctor
  readmost doctor --quick                        the sentences matter, not the digits
  READMOST_LIBRARY=./libreadmost-pthread.so readmost doctor
  readmost doctor --json | jq -r '.findings[].text'

Exit status:
  0  readers can be passive here
  1  something makes Readmost useless here; the page says what, and what to do about it
  2  wrong option, or the machine could not be examined

Environment:
  READMOST_LIBRARY  the library to look at, instead of ../lib/libreadmost-pthread.so
                    beside this command)";

effort effort_for(const doctor_options& options) {
  return options.quick ? effort{9, 200us} : effort{50, 300us};
}

std::vector<std::string> words_for_child(const doctor_options& options) {
  std::vector<std::string> words{"readmost", "doctor", only_pthread_option};
  if (options.quick) words.emplace_back("--quick");
  return words;
}

examination examine(const doctor_options& options) {
  examination all;
  all.machine = facts_of_this_machine();
  try {
    all.library = find_library(environment()).string();
  } catch (const failure& problem) {
    all.library_problem = problem.what();
  }
  constexpr unsigned long child_processes = 2;
  progress bar(measurements_of(all.machine) + child_processes);
  all.glibc = measure_pthread_in_child("", words_for_child(options));
  if (!all.glibc.problem.empty()) {
    throw failure(exit_status::own_failure,
                  fmt::format("cannot measure in a process of its own, for {}", all.glibc.problem));
  }
  bar.step();
  // Where the library's first membarrier is the end of a process, nothing can be measured with it.
  if (!all.library.empty() && !all.machine.membarrier.killed) {
    all.preloaded = measure_pthread_in_child(all.library, words_for_child(options));
  }
  bar.step();
  all.costs = costs_of_this_machine(all.machine, effort_for(options), [&] { bar.step(); });
  return all;
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw failure(doctor_status::cannot_examine,
                fmt::format("cannot write to stdout: {}; redirect it to where there is room",
                            std::strerror(errno)));
}

}  // namespace

CLI::App* add_doctor(CLI::App& readmost, doctor_options& options) {
  CLI::App* command = readmost.add_subcommand("doctor");
  command->set_help_flag("-h,--help", "say how to use it");
  command->description(description)->footer(footer);
  command->add_flag("--quick", options.quick, "measure for a fraction of the time");
  command->add_flag("--json", options.json, "print JSON instead of the page");
  command->add_flag(only_pthread_option, options.only_pthread)->group("");
  return command;
}

int doctor(const CLI::App& command, const doctor_options& options, const command_line& line) {
  try {
    no_program_words(command, line);
    if (options.only_pthread) {
      measure_pthread_here(effort_for(options));
      return doctor_status::useful;
    }
    const examination all = examine(options);
    print(options.json
              ? as_json(all).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'
              : as_page(all));
    return is_useful(meaning_of(all)) ? doctor_status::useful : doctor_status::obstacle;
  } catch (const std::system_error& problem) {
    throw failure(doctor_status::cannot_examine,
                  fmt::format("cannot start the threads to measure with: {}; raise the limit of "
                              "threads (ulimit -u, pids.max)",
                              problem.code().message()));
  } catch (const failure& problem) {
    if (problem.status != exit_status::own_failure) throw;
    throw failure(doctor_status::cannot_examine, problem.what());
  }
}

}  // namespace readmost::command
