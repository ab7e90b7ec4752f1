// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "doctor/calibrate.hpp"
#include "doctor/examination.hpp"
#include "doctor/print.hpp"
#include "doctor/pthread_costs.hpp"
#include "failure.hpp"
#include "machine/facts.hpp"
#include "machine/synchronization_costs.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"
#include "progress.hpp"

namespace readmost::command {
namespace {

using namespace std::chrono_literals;

effort effort_for(const doctor_options& options) {
  return options.quick ? effort{9, 200us} : effort{50, 300us};
}

// A file is used for long.
effort calibration_effort_for(const doctor_options& options) {
  return options.quick ? effort_for(options) : effort{50, 1ms};
}

std::vector<std::string> words_for_child(const doctor_options& options) {
  std::vector<std::string> words{"readmost", "doctor", "--only-pthread"};
  if (options.quick) words.emplace_back("--quick");
  return words;
}

examination examine(const doctor_options& options) {
  examination all;
  all.machine = facts_of_this_machine();
  try {
    all.library = find_library(environment(), "prwlock").string();
  } catch (const failure& problem) {
    all.library_problem = problem.what();
  }
  all.scheduler_help = ask_for_scheduler_help();
  constexpr unsigned long child_processes = 2;
  progress bar(measurements_of(all.machine) + child_processes);
  all.glibc = measure_pthread_in_child("", words_for_child(options));
  if (!all.glibc.problem.empty()) {
    throw failure("cannot measure in a child process: {}", all.glibc.problem);
  }
  bar.step();
  // Where a membarrier kills the process, the library cannot be measured.
  if (!all.library.empty() && !all.machine.membarrier.killed) {
    all.preloaded = measure_pthread_in_child(all.library, words_for_child(options));
  }
  bar.step();
  all.costs = measure_synchronization(all.machine, effort_for(options), [&] { bar.step(); });
  return all;
}

}  // namespace

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw failure("cannot write to stdout: {}; redirect it to a file you may write",
                std::strerror(errno));
}

int doctor(const doctor_options& options) {
  try {
    if (options.only_pthread) {
      measure_pthread_here(effort_for(options));
      return 0;
    }
    if (!options.calibrate.empty()) {
      write_machine_file(options, calibration_effort_for(options));
      return 0;
    }
    const examination all = examine(options);
    print(options.json ? as_json(all) : as_page(all));
    return is_useful(meaning_of(all)) ? 0 : 1;
  } catch (const std::system_error& problem) {
    throw failure(
        "cannot start the threads to measure with: {}; raise the limit of threads (ulimit -u, "
        "pids.max)",
        problem.code().message());
  }
}

}  // namespace readmost::command
