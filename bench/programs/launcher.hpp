// SPDX-License-Identifier: Apache-2.0
// Runs unchanged programs over a preloaded lock.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/benchmark.hpp"
#include "process/child.hpp"
#include "process/signal_watch.hpp"

namespace bench {

using variables = std::vector<std::pair<std::string, std::string>>;

struct finished_program {
  std::string command;  // as a shell would take it
  double seconds = 0;
  double cpu_seconds = 0;  // with those of the processes that it waited for
  std::string output;      // stdout and stderr, interleaved

  // The number that the first group of this regular expression (RE2) matches in the output; ^ and $
  // match at each line. Throws if there is none.
  double number(const std::string& pattern) const;
  double number_above_0(const std::string& pattern) const;
};

// The folder of this build's programs.
std::filesystem::path program_folder();

// To be made before any thread is started: during its lifetime it takes the signals that end this
// process, so that no program is left running.
class launcher {
 public:
  // The values of READMOST_LOCK, Readmost's own lock first.
  static std::vector<std::string> locks();

  // Runs words[0], found as by a shell, until it ends. `pthread` is glibc's lock, with nothing
  // preloaded. Throws an error with the command and the end of its output if the program fails or
  // does not end in time, or if it does not get the lock. For one thread at a time.
  finished_program run(const std::string& lock, std::vector<std::string> words,
                       const variables& more, std::chrono::seconds limit);

 private:
  readmost::command::signal_watch signals_;
};

// As launcher::run, for a program that works for `working_time`, if it takes one.
using run_function =
    std::function<finished_program(std::vector<std::string> words, const variables& more,
                                   std::chrono::duration<double> working_time)>;

// Runs programs over a lock of READMOST_LOCK.
struct preloaded_lock {
  std::string name;
  run_function run;
};
std::vector<preloaded_lock> all_preloaded_locks();

// Those, and Readmost's and glibc's locks under writer preference, as `prwlock-writer` and
// `pthread-writer`: where a writer never rests, only locks of one preference are comparable.
// glibc's is for locks that the program initialises by a call.
std::vector<preloaded_lock> all_preloaded_with_preferences();

// The library that makes glibc's prefer writers.
std::filesystem::path writers_first_library();

// A benchmark of these locks: measure(run, options, effort, figures) measures a turn of one.
template <class Options = no_options, class Measure>
benchmark benchmark_of_preloaded_locks(std::string description, Measure measure,
                                       std::vector<preloaded_lock> locks = all_preloaded_locks()) {
  return benchmark_of<Options>(
      std::move(description), std::move(locks),
      [measure](const preloaded_lock& lock, const Options& chosen, effort much, figures& found) {
        if constexpr (std::is_invocable_v<Measure, const run_function&, effort, figures&>) {
          measure(lock.run, much, found);
        } else {
          measure(lock.run, chosen, much, found);
        }
      });
}

}  // namespace bench
