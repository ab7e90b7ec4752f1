#include "run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "environment.hpp"
#include "failure.hpp"
#include "lock_options.hpp"
#include "preload.hpp"
#include "program_file.hpp"

namespace readmost::command {
namespace {

constexpr std::string_view on_stderr = "-";

constexpr const char* description =
    R"(Run a program with Readmost's locks.

Runs PROGRAM with the Readmost library preloaded, so that each pthread_rwlock_t in it becomes a
Readmost lock (also those inside std::shared_mutex, OpenSSL, GLib and so on), without recompiling
anything. The command replaces itself by the program: its process id, stdin, signals and exit
status are the program's own. What LD_PRELOAD holds already is kept, behind the library.
)";

constexpr const char* footer = R"(
Examples:
  readmost run -- ./server --port 8080
  readmost run --stats -- openssl speed rand
  readmost run --stats=locks.json --prefer writer -- node app.js
  readmost run --lock pthread -- ./server      glibc's locks, through the library

Exit status: the program's own, except
  125  readmost could not do its part: wrong option, no library, unwritable file
  126  the program cannot be executed
  127  there is no such program

Environment (an option that is given wins):
  READMOST_LOCK     the name of a lock, as --lock
  READMOST_PREFER   reader, writer or phase-fair, as --prefer
  READMOST_STATS    1 for a table on stderr, or a file, as --stats
  READMOST_STATS_BACKTRACE
                    1, as --backtrace
  READMOST_LIBRARY  the library to preload, instead of ../lib/libreadmost-pthread.so
                    beside this command)";

// Lets a file that cannot be written be found out now instead of at the program's end.
std::string emptied_file(const std::string& name) {
  const std::filesystem::path path = std::filesystem::absolute(name).lexically_normal();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    throw failure(exit_status::own_failure,
                  fmt::format("--stats: cannot write '{}': {}; name a file you may write",
                              path.string(), std::strerror(errno)));
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

std::string check_preference(const std::string& name) {
  if (name == "reader" || name == "writer" || name == "phase-fair") return "";
  return fmt::format("cannot prefer '{}'; choose reader, writer or phase-fair", name);
}

}  // namespace

CLI::App* add_run(CLI::App& readmost, run_options& options) {
  CLI::App* command = readmost.add_subcommand("run");
  command->set_help_flag("-h,--help", "say how to use it");
  command->description(description)
      ->footer(std::string("Other locks for --lock, to compare with:\n") + list_of_other_locks +
               footer)
      ->prefix_command();
  command
      ->add_option("--lock", options.lock,
                   "prwlock: Readmost's lock (the default)\n"
                   "pthread: pass every call on to glibc's lock\n"
                   "or another, listed below, to compare with;\n"
                   "nothing is counted then")
      ->check(CLI::Validator(check_lock, ""))
      ->type_name("NAME");
  command
      ->add_option("--prefer", options.prefer,
                   "whom to let in first: reader, writer, or phase-fair,\n"
                   "by turns; without it, as each lock's pthread kind\n"
                   "asks (the default kind: reader)")
      ->check(CLI::Validator(check_preference, ""))
      ->type_name("WHOM");
  command->add_flag("--stats{-}", options.stats,
                    "say at exit what the locks did, and each of the\n"
                    "ten that were used most: as a table on\n"
                    "stderr, or in FILE, which is emptied first (as\n"
                    "JSON, one line per process, if named *.json)");
  command->add_flag("--backtrace", options.backtrace,
                    "with --stats: say who used each lock first; costs\n"
                    "some microseconds for each new lock");
  return command;
}

void run(const run_options& options, std::vector<std::string> program) {
  environment env;
  const std::filesystem::path library = find_library(env);
  const std::filesystem::path file = find_program(program.front(), env);
  apply(options, env);
  prepend_library(env, library);
  warn_of_preload_obstacle(file);
  // execvpe instead of execve: as a shell does, it hands a script without a #! line to sh.
  execvpe(file.c_str(), argument_pointers(program).data(), env.pointers().data());
  throw failure(exit_status::not_executable,
                fmt::format("cannot run '{}': {}{}", file.string(), std::strerror(errno),
                            errno == ENOENT ? "; the interpreter or loader that the file names is "
                                              "missing"
                                            : ""));
}

}  // namespace readmost::command
