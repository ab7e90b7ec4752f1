// SPDX-License-Identifier: Apache-2.0
#include "programs/launcher.hpp"

#include <fmt/core.h>
#include <re2/re2.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "process/environment.hpp"
#include "process/preload.hpp"
#include "process/program_file.hpp"
#include "statistics/lock_names.hpp"

namespace bench {
namespace {

namespace command = readmost::command;

constexpr std::string_view not_preloaded = "pthread";
constexpr const char* lock_variable = "READMOST_LOCK";
constexpr std::chrono::seconds time_to_start_and_end{120};
constexpr std::size_t kept_output = 1024 * 1024;

double cpu_seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

// The command as a shell takes it.
std::string shell_text(const variables& environment, const std::vector<std::string>& words) {
  std::string text;
  for (const auto& [name, value] : environment) text += fmt::format("{}={} ", name, value);
  for (const std::string& word : words) {
    text += RE2::FullMatch(word, "[-+=:,./\\w]+") ? word : quoted(word);
    if (&word != &words.back()) text += ' ';
  }
  return text;
}

std::string end_of(const std::string& output) {
  constexpr std::size_t shown = 2000;
  if (output.empty()) return "it printed nothing";
  return "the end of its output:\n" + output.substr(output.size() - std::min(output.size(), shown));
}

// The reason why the run is no measurement, if there is one.
std::optional<std::string> complaint(const command::child_result& run, std::chrono::seconds limit) {
  using ending = command::child_result::ending;
  switch (run.how) {
    case ending::killed:
      return fmt::format("was ended by signal {} ({})", run.code, strsignal(run.code));
    case ending::timed_out:
      return fmt::format("had not ended after {} seconds", limit.count());
    case ending::interrupted:
      return fmt::format("was interrupted by signal {} ({})", run.code, strsignal(run.code));
    case ending::exited:
      if (run.code != 0) return fmt::format("failed: status {}", run.code);
  }
  // In both cases the program has run over another lock than the measured one.
  if (run.output.find(fmt::format("readmost: {}=", lock_variable)) != std::string::npos) {
    return "did not get that lock";
  }
  if (run.output.find("ERROR: ld.so") != std::string::npos) {
    return "did not get the library";
  }
  return std::nullopt;
}

}  // namespace

double finished_program::number(const std::string& pattern) const {
  std::string text;
  if (!RE2::PartialMatch(output, "(?m)" + pattern, &text)) {
    throw std::runtime_error(fmt::format("'{}' printed nothing that matches '{}'; {}", command,
                                         pattern, end_of(output)));
  }
  double value = 0;
  if (!RE2::FullMatch(text, "([0-9.eE+]+)", &value) || !std::isfinite(value)) {
    throw std::runtime_error(fmt::format("'{}' printed '{}' where '{}' matches, which is no number",
                                         command, text, pattern));
  }
  return value;
}

double finished_program::number_above_0(const std::string& pattern) const {
  const double value = number(pattern);
  if (value > 0) return value;
  throw std::runtime_error(fmt::format(
      "'{}' printed 0 where '{}' matches: it did no operation in its time", command, pattern));
}

std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::vector<std::string> launcher::locks() {
  return {readmost::detail::lock_names.begin(), readmost::detail::lock_names.end()};
}

finished_program launcher::run(const std::string& lock, std::vector<std::string> words,
                               const variables& more, std::chrono::seconds limit) {
  command::environment environment;
  const std::filesystem::path program = command::find_program(words.front(), environment);
  command::remove_library(environment);
  environment.unset(lock_variable);
  variables added = more;
  if (lock != not_preloaded) {
    if (const std::optional<std::string> obstacle = command::preload_obstacle(program)) {
      throw std::runtime_error(fmt::format("{}: it keeps its own locks", *obstacle));
    }
    command::prepend_library(environment, command::find_library(environment, lock));
    added.emplace_back(lock_variable, lock);
    added.emplace_back("LD_PRELOAD", *environment.get("LD_PRELOAD"));
  }
  for (const auto& [name, value] : added) environment.set(name, value);

  finished_program done;
  done.command = shell_text(added, words);
  const double cpu_before = cpu_seconds_of_children();
  command::child_result run = command::run_child(program, std::move(words), std::move(environment),
                                                 {limit, kept_output}, signals_);
  done.cpu_seconds = cpu_seconds_of_children() - cpu_before;
  done.seconds = run.elapsed.count();
  if (const std::optional<std::string> reason = complaint(run, limit)) {
    throw std::runtime_error(fmt::format("'{}' {}; {}", done.command, *reason, end_of(run.output)));
  }
  done.output = std::move(run.output);
  return done;
}

namespace {

// With these variables set besides what the benchmark sets.
preloaded_lock preloaded(const std::shared_ptr<launcher>& programs, std::string name,
                         const std::string& lock, const variables& always) {
  return {std::move(name), [=](std::vector<std::string> words, const variables& more,
                               std::chrono::duration<double> working_time) {
            variables all = always;
            all.insert(all.end(), more.begin(), more.end());
            return programs->run(
                lock, std::move(words), all,
                time_to_start_and_end + std::chrono::ceil<std::chrono::seconds>(working_time));
          }};
}

std::vector<preloaded_lock> all_preloaded(const std::shared_ptr<launcher>& programs) {
  std::vector<preloaded_lock> all;
  for (const std::string& lock : launcher::locks()) {
    all.push_back(preloaded(programs, lock, lock, {}));
  }
  return all;
}

}  // namespace

std::filesystem::path writers_first_library() {
  return program_folder() / "programs" / "libwriters-first.so";
}

std::vector<preloaded_lock> all_preloaded_locks() {
  return all_preloaded(std::make_shared<launcher>());
}

std::vector<preloaded_lock> all_preloaded_with_preferences() {
  const auto programs = std::make_shared<launcher>();
  std::vector<preloaded_lock> all = all_preloaded(programs);
  all.push_back(preloaded(programs, "prwlock-writer", "prwlock", {{"READMOST_PREFER", "writer"}}));
  all.push_back(preloaded(programs, "pthread-writer", std::string(not_preloaded),
                          {{"LD_PRELOAD", writers_first_library()}}));
  return all;
}

}  // namespace bench
