#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "commands.hpp"
#include "failure.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"
#include "process/program_file.hpp"

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

void apply(const run_options& options, environment& env) {
  if (!options.lock.empty()) env.set("READMOST_LOCK", options.lock);
  if (!options.prefer.empty()) env.set("READMOST_PREFER", options.prefer);
  if (options.stats == on_stderr) {
    env.set("READMOST_STATS", "1");
  } else if (!options.stats.empty()) {
    env.set("READMOST_STATS", emptied_file(options.stats));
  }
  if (options.backtrace) env.set("READMOST_STATS_BACKTRACE", "1");
}

}  // namespace

void run(const run_options& options, std::vector<std::string> program) {
  environment env;
  const std::string lock =
      options.lock.empty() ? env.get("READMOST_LOCK").value_or("") : options.lock;
  const std::filesystem::path found = find_library(env, lock);
  const std::filesystem::path file = find_program(program.front(), env);
  const std::filesystem::path library = library_for(file, found);
  apply(options, env);
  prepend_library(env, library);
  warn_of_preload_obstacle(file);
  warn_of_refusal_by_sanitizer(file, env);
  // execvpe instead of execve: as a shell does, it hands a script without a #! line to sh.
  execvpe(file.c_str(), argument_pointers(program).data(), env.pointers().data());
  throw cannot_run(file, errno);
}

}  // namespace readmost::command
