// Real programs, unchanged, each run as a process of its own over a lock that it knows nothing of.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "child.hpp"
#include "comparison.hpp"
#include "signal_watch.hpp"

namespace bench {

using variables = std::vector<std::pair<std::string, std::string>>;

struct finished_program {
  std::string command;  // as a shell would take it
  double seconds = 0;
  double cpu_seconds = 0;  // its own and those of the processes it waited for
  std::string output;      // stdout and stderr as they came

  // What the first group of this regular expression (RE2) finds in the output; ^ and $ match at
  // each line. Throws if that is no number.
  double number(const std::string& pattern) const;
  double number_above_0(const std::string& pattern) const;
};

// Where the programs of this build lie.
std::filesystem::path program_folder();

// To be made before any thread is started: as long as it lives, signals that end us arrive here
// alone, so that no program is left running.
class launcher {
 public:
  // The values of READMOST_LOCK, ours first.
  static std::vector<std::string> locks();

  // Runs words[0], found as a shell finds it, until it ends. `pthread` is glibc's lock as it is,
  // with nothing preloaded. Throws, naming the command and showing the end of its output, if the
  // program fails or does not end in time, or if the lock does not reach it. Not for two threads at
  // once.
  finished_program run(const std::string& lock, std::vector<std::string> words,
                       const variables& more, std::chrono::seconds limit);

 private:
  readmost::command::signal_watch signals_;
};

// As bench::comparison, with a program's run in place of the contender.
struct program_comparison {
  // As launcher::run, for a program that works for the time it is told, if it is told any.
  using run_function =
      std::function<finished_program(std::vector<std::string> words, const variables& more,
                                     std::chrono::duration<double> working_time)>;

  std::string program;
  std::string description;
  std::function<void(const run_function& run, effort, figures&)> measure;
  std::function<void(CLI::App&)> add_options;
};

// The main function of a program that compares the locks under others. Returns the exit status.
int compare_locks_under(const program_comparison& what, int argc, char** argv);

}  // namespace bench
