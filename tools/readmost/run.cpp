// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "commands.hpp"
#include "failure.hpp"
#include "open_metrics.hpp"
#include "output_file.hpp"
#include "platform/choice.hpp"
#include "process/attended.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"
#include "process/program_file.hpp"
#include "process/scheduler_help.hpp"
#include "profile/formats.hpp"
#include "profile/scratch_folder.hpp"
#include "statistics/lock_names.hpp"
#include "statistics/profile_setting.hpp"

namespace readmost::detail {

// What the command starts has the library too, and tells them in its own name.
bool tells_of_wrong_settings() noexcept {
  return false;
}

bool starts_no_profile_early() noexcept {
  return true;
}

}  // namespace readmost::detail

namespace readmost::command {
namespace {

constexpr std::string_view on_stderr = "-";

// Fails now rather than at the program's end if the file cannot be written. A named pipe need not
// have a reader yet.
std::string emptied_file(const std::string& name) {
  const std::filesystem::path path = std::filesystem::absolute(name).lexically_normal();
  std::error_code unknown;
  if (std::filesystem::is_fifo(path, unknown)) return path.string();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    throw failure("--stats: cannot write '{}': {}; name a file you may write", path.string(),
                  std::strerror(errno));
  }
  close(file);
  return path.string();
}

bool wants_open_metrics(const run_options& options) {
  return options.stats.ends_with(".prom");
}

void apply(const run_options& options, environment& env) {
  if (!options.lock.empty()) env.set("READMOST_LOCK", options.lock);
  if (!options.prefer.empty()) env.set("READMOST_PREFER", options.prefer);
  if (options.stats == on_stderr) {
    env.set("READMOST_STATS", "1");
  } else if (!options.stats.empty() && !wants_open_metrics(options)) {
    env.set("READMOST_STATS", emptied_file(options.stats));
  }
  if (options.backtrace) env.set("READMOST_STATS_BACKTRACE", "1");
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What can only be written once the program has ended; the library keeps it in a folder meanwhile.
class results {
 public:
  results(const run_options& options, const std::string& lock, environment& env) {
    if (!options.profile.empty()) {
      if (!lock.empty() && lock != detail::name_of(detail::lock_choice::prwlock)) {
        throw failure(
            "--profile: only Readmost's own lock is profiled, not '{}'; choose --lock prwlock",
            lock);
      }
      profile_.emplace(options.profile);
      std::filesystem::create_directory(stacks());
      env.set("READMOST_PROFILE", stacks().string());
    }
    if (wants_open_metrics(options)) {
      metrics_.emplace("--stats", options.stats);
      env.set("READMOST_STATS", statistics().string());
    }
  }

  void write(double seconds) {
    if (metrics_) write_metrics();
    if (profile_) write_profile(seconds);
  }

 private:
  std::filesystem::path stacks() const { return folder_.path() / "stacks"; }
  std::filesystem::path statistics() const { return folder_.path() / "statistics.json"; }

  void write_metrics() {
    metrics_->write(as_open_metrics(metrics_in_json(content_of(statistics()))));
  }

  void write_profile(double seconds) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(stacks())) {
      files.push_back(entry.path());
    }
    std::ranges::sort(files);
    // The copies of the library in one program have a file each.
    std::vector<std::vector<taken_profile>> programs;
    for (const std::filesystem::path& file : files) {
      profile_copy table = profile_in_file(file);
      if (table == nullptr) continue;
      const auto same = std::ranges::find_if(programs, [&](const auto& program) {
        return program.front().table->execution == table->execution;
      });
      auto& program = same != programs.end() ? *same : programs.emplace_back();
      program.push_back({std::move(table), nullptr});
    }
    std::vector<process_profile> processes;
    for (const auto& program : programs) {
      process_profile process = readable(program, "");
      if (!process.stacks.empty()) processes.push_back(std::move(process));
    }
    if (processes.empty()) {
      fmt::print(stderr, "readmost run: no thread lost time to a lock: the profile is empty\n");
    }
    profile_->write(processes, seconds);
  }

  scratch_folder folder_;
  std::optional<profile_file> profile_;
  std::optional<output_file> metrics_;
};

// The program's end decides about the exit status, whether or not the results can be written.
[[noreturn]] void run_and_write(const run_options& options, const std::string& lock,
                                const std::filesystem::path& file, std::vector<std::string> program,
                                environment env) {
  int status = 0;
  {
    results wanted(options, lock, env);
    const auto start = std::chrono::steady_clock::now();
    status = run_attended(file, std::move(program), std::move(env));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    try {
      wanted.write(taken.count());
    } catch (const std::exception& problem) {
      fmt::print(stderr, "readmost run: {}\n", problem.what());
    }
  }
  end_like(status);
}

}  // namespace

void run(const run_options& options, std::vector<std::string> program) {
  environment env;
  const std::string lock =
      options.lock.empty() ? env.get("READMOST_LOCK").value_or("") : options.lock;
  const std::filesystem::path found = find_library(env, lock);
  std::filesystem::path file = find_program(program.front(), env);
  const std::filesystem::path library = library_for(file, found);
  apply(options, env);
  prepend_library(env, library);
  warn_of_preload_obstacle(file);
  warn_of_refusal_by_sanitizer(file, env);
  if (options.scheduler_help) file = with_scheduler_help(program, env);
  if (!options.profile.empty() || wants_open_metrics(options)) {
    run_and_write(options, lock, file, std::move(program), std::move(env));
  }
  // execvpe instead of execve: as a shell does, it hands a script without a #! line to sh.
  execvpe(file.c_str(), argument_pointers(program).data(), env.pointers().data());
  throw cannot_run(file, errno);
}

}  // namespace readmost::command
