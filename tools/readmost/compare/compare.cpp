// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "compare/comparison.hpp"
#include "failure.hpp"
#include "output_file.hpp"
#include "process/child.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"
#include "process/program_file.hpp"
#include "process/signal_watch.hpp"
#include "progress.hpp"

namespace readmost::command {
namespace {

// The name for running without the library at all.
constexpr std::string_view without_library = "glibc";

environment environment_for(const measurements& results) {
  environment env;
  if (results.library.empty()) {
    remove_library(env);
  } else {
    prepend_library(env, results.library);
    env.set("READMOST_LOCK", results.lock);
  }
  return env;
}

std::string tail(const std::string& output) {
  constexpr int most_lines = 15;
  constexpr std::size_t most_bytes = 2000;
  if (output.empty()) return "it printed nothing\n";
  std::size_t start = output.size() - std::min(output.size(), most_bytes);
  // Starts at the beginning of a line, as far as the bytes allow.
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

// How much of the CPUs' time other processes used while the program ran; 0 if that is unknown.
double share_of_others(const std::vector<int>& cpus, const std::optional<cpu_times>& before,
                       const child_result& run) {
  const auto now = times_of(cpus);
  if (!now || !before) return 0;
  const auto all = run.elapsed * static_cast<double>(cpus.size());
  return std::clamp((now->busy - before->busy - run.cpu_time) / all, 0.0, 1.0);
}

struct finish {
  int status = 0;
  std::string tail_of_output;  // of the run that failed
};

// Fills in the results until a run fails.
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
      bar.name_step(fmt::format("{}, round {} of {}", lock->lock, round + 1, options.runs));
      const auto before = times_of(results.cpus);
      const child_result run =
          run_child(program, results.program, environment_for(*lock), limits, signals);
      std::string problem = run.problem();
      if (run.how == child_result::ending::timed_out) problem += "; give it more with --timeout";
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
      lock->others.push_back(share_of_others(results.cpus, before, run));
      bar.step();
    }
  }
  return {};
}

}  // namespace

int compare(const compare_options& options, std::vector<std::string> program) {
  const environment env;
  const std::filesystem::path file = find_program(program.front(), env);
  comparison results;
  results.program = std::move(program);
  if (!options.metric.empty()) results.judged_by = metric(options.metric, options.lower);
  results.rounds_asked = options.runs;
  bool preloads = false;
  for (const std::string& lock : options.locks) {
    const bool has_library = lock != without_library;
    results.locks.push_back(
        {lock, has_library ? library_for(file, find_library(env, lock)).string() : "", {}, {}, {}});
    preloads = preloads || has_library;
  }
  if (preloads) {
    warn_of_preload_obstacle(file);
    warn_of_refusal_by_sanitizer(file, env);
  }
  std::optional<output_file> json;
  if (!options.json.empty()) json.emplace("--json", options.json);

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
  if (json) json->write(as_json(results));
  if (!shown) {
    throw failure("cannot write the table to stdout: {}; redirect it to a file you may write",
                  std::strerror(error));
  }
  return end.status;
}

}  // namespace readmost::command
