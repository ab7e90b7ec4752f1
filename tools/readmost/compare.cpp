#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "child.hpp"
#include "command_line.hpp"
#include "environment.hpp"
#include "failure.hpp"
#include "lock_options.hpp"
#include "metric.hpp"
#include "preload.hpp"
#include "program_file.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "signal_watch.hpp"

namespace readmost::command {
namespace {

constexpr const char* description =
    R"(Compare a program's speed under several locks.

Runs PROGRAM several times under each lock and tells how they compare. The runs are interleaved,
in alternating order, and a ratio is taken within each round, so that drift of the machine
cancels. Without --metric the wall time is compared; with it, a number that the program prints.
The program gets nothing on stdin, and its output is shown only when it fails.
)";

constexpr const char* locks =
    R"(Locks:
  glibc            the program as it is, without the library
  prwlock          Readmost's lock
  pthread          the library passing every call on to glibc: what preloading itself costs
)";

constexpr const char* footer =
    R"(The first in --locks is the baseline; naming one twice (glibc,glibc) shows the noise. `all` stands
for each of them.

Examples:
  readmost compare -- ./bench
  readmost compare --runs 11 --metric '([0-9.]+) ops/s' -- ./bench --threads 2
  readmost compare --metric 'p99: ([0-9.]+) us' --lower --json result.json -- ./bench
  readmost compare --locks glibc,prwlock,bravo-ba,ba --timeout 60 -- ./bench
  readmost compare --locks all --runs 3 -- ./bench

Exit status:
  0    every run gave a number
  1    the program failed, hung or printed no number; what was measured before is shown
  125  readmost could not do its part: wrong option, no library, unwritable file
  126  the program cannot be executed
  127  there is no such program
  130  interrupted by Ctrl-C (128 + the signal); what was measured before is shown

Environment:
  READMOST_PREFER   reader, writer or phase-fair, handed on to the library
  READMOST_LIBRARY  the library to preload, instead of ../lib/libreadmost-pthread.so
                    beside this command)";

environment environment_for(const std::string& lock, const std::string& library) {
  environment env;
  if (lock == without_library) {
    remove_library(env);
  } else {
    prepend_library(env, library);
    env.set("READMOST_LOCK", lock);
  }
  return env;
}

std::string tail(const std::string& output) {
  constexpr int most_lines = 15;
  constexpr std::size_t most_bytes = 2000;
  if (output.empty()) return "it printed nothing\n";
  std::size_t start = output.size() - std::min(output.size(), most_bytes);
  // Starts at a line's beginning and shows whole lines, as far as the bytes allow.
  std::size_t line = output.size();
  for (int lines = 0; lines < most_lines && line > start; ++lines) {
    const std::size_t newline = line < 2 ? std::string::npos : output.rfind('\n', line - 2);
    line = newline == std::string::npos ? 0 : newline + 1;
  }
  start = std::max(start, line);
  const std::string end = output.substr(start);
  return fmt::format("{}\n{}{}", start == 0 ? "its output:" : "the end of its output:", end,
                     end.ends_with('\n') ? "" : "\n");
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

// What went wrong with a run, empty when nothing did.
std::string describe_ending(const child_result& run, double timeout) {
  switch (run.how) {
    case child_result::ending::exited:
      return run.code == 0 ? "" : fmt::format("exited with status {}", run.code);
    case child_result::ending::killed:
      return fmt::format("was killed by {} ({})", signal_name(run.code), strsignal(run.code));
    case child_result::ending::timed_out:
      return fmt::format(
          "was still running after {} seconds and was killed; give more with "
          "--timeout if it needs more",
          timeout);
    case child_result::ending::interrupted:
      return fmt::format("was interrupted by {}", signal_name(run.code));
  }
  return "";
}

// Opened before the first run, so that hours of measuring do not end in an unwritable file.
class json_file {
 public:
  explicit json_file(const std::string& name) : name_(name) {
    if (name_.empty()) return;
    file_.open(name_);
    if (!file_) fail();
  }

  void write(const comparison& results) {
    if (name_.empty()) return;
    // A program's words may hold any bytes, JSON only UTF-8.
    file_ << as_json(results).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n'
          << std::flush;
    if (!file_) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw failure(exit_status::own_failure,
                  fmt::format("--json: cannot write '{}': {}; name a file you may write", name_,
                              std::strerror(errno)));
  }

  std::string name_;
  std::ofstream file_;
};

struct finish {
  int status = 0;
  std::string tail_of_output;  // of the run that failed
};

// Fills in the results, as far as the runs go well.
finish measure(const compare_options& options, const std::filesystem::path& program,
               comparison& results) {
  const child_limits limits{std::chrono::duration<double>(options.timeout),
                            results.judged_by.output_needed()};
  signal_watch signals;
  progress bar(static_cast<unsigned long>(options.runs) * results.locks.size());
  for (int round = 0; round < options.runs; ++round) {
    std::vector<measurements*> order;
    for (measurements& lock : results.locks) order.push_back(&lock);
    if (round % 2 == 1) std::ranges::reverse(order);

    for (measurements* lock : order) {
      const child_result run = run_child(
          program, results.program, environment_for(lock->lock, results.library), limits, signals);
      std::string problem = describe_ending(run, options.timeout);
      metric::reading reading;
      if (problem.empty()) {
        reading = results.judged_by.read(run);
        problem = reading.problem;
      }
      if (!problem.empty()) {
        results.problem = fmt::format("under lock {}, round {} of {}, '{}' {}", lock->lock,
                                      round + 1, options.runs, results.program.front(), problem);
        if (run.how == child_result::ending::interrupted) {
          return {exit_status::signal_base + run.code, ""};
        }
        return {exit_status::program_failed, tail(run.output)};
      }
      lock->values.push_back(reading.value);
      lock->seconds.push_back(run.elapsed.count());
      bar.step();
    }
  }
  return {};
}

}  // namespace

CLI::App* add_compare(CLI::App& readmost, compare_options& options) {
  CLI::App* command = readmost.add_subcommand("compare");
  command->set_help_flag("-h,--help", "say how to use it");
  command->description(description)
      ->footer(std::string(locks) + list_of_other_locks + footer)
      ->prefix_command();
  command->add_option("--runs", options.runs, "how often to run under each lock (default 5)")
      ->check(number_between(1, 1000, true))
      ->type_name("N");
  command
      ->add_option("--locks", options.locks,
                   "the locks, the baseline first, or all; see below\n"
                   "(default glibc,prwlock)")
      ->delimiter(',')
      ->check(CLI::Validator(check_compared_lock, ""))
      ->allow_extra_args(false)
      ->type_name("A,B,...");
  CLI::Option* metric = command
                            ->add_option("--metric", options.metric,
                                         "compare the number that the first group of this\n"
                                         "regular expression (RE2 syntax), or all of it,\n"
                                         "finds in stdout and stderr; higher is better")
                            ->check(some_text("a regular expression"))
                            ->type_name("REGEX");
  command->add_flag("--lower", options.lower, "with --metric: lower is better")->needs(metric);
  command
      ->add_option("--json", options.json,
                   "write every value, the ratios and the facts of\n"
                   "this host to FILE")
      ->check(some_text("a file"))
      ->type_name("FILE");
  command
      ->add_option("--timeout", options.timeout, "the longest that one run may take (default 600)")
      ->check(number_between(0.01, 86400, false))
      ->type_name("SECONDS");
  return command;
}

int compare(const compare_options& options, std::vector<std::string> program) {
  const environment env;
  const std::filesystem::path file = find_program(program.front(), env);
  comparison results;
  results.program = std::move(program);
  if (!options.metric.empty()) results.judged_by = metric(options.metric, options.lower);
  results.rounds_asked = options.runs;
  const std::vector<std::string> locks = all_spelled_out(options.locks);
  for (const std::string& lock : locks) results.locks.push_back({lock, {}, {}});
  const bool needs_library =
      std::ranges::any_of(locks, [](const auto& lock) { return lock != without_library; });
  if (needs_library) {
    results.library = find_library(env).string();
    warn_of_preload_obstacle(file);
  }
  json_file json(options.json);

  const finish end = measure(options, file, results);

  bool shown = true;
  if (results.has_values()) {
    const std::string table = as_table(results);
    shown = std::fwrite(table.data(), 1, table.size(), stdout) == table.size() &&
            std::fflush(stdout) == 0;
  }
  const int error = errno;
  if (!results.problem.empty()) {
    fmt::print(stderr, "readmost compare: {}\n{}", results.problem, end.tail_of_output);
  }
  json.write(results);
  if (!shown) {
    throw failure(exit_status::own_failure,
                  fmt::format("cannot write the table to stdout: {}", std::strerror(error)));
  }
  return end.status;
}

}  // namespace readmost::command
