// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace readmost::command_test {
namespace {

using namespace std::chrono_literals;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

template <typename Condition>
bool becomes_true(Condition condition) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

}  // namespace

command::command() : environment{std::string("READMOST_LIBRARY=") + READMOST_IDLE_LIBRARY} {
  std::string name = (fs::temp_directory_path() / "readmost-command-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
  folder = fs::canonical(name);
}

command::~command() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

pid_t command::start(const words& arguments) const {
  words argument_strings{executable};
  argument_strings.insert(argument_strings.end(), arguments.begin(), arguments.end());
  words environment_strings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::ranges::any_of(
        environment, [&](const std::string& added) { return added.starts_with(name); });
    if (!replaced && name != "LD_PRELOAD=" && !name.starts_with("READMOST_")) {
      environment_strings.emplace_back(text);
    }
  }
  environment_strings.insert(environment_strings.end(), environment.begin(), environment.end());
  const std::vector<char*> argv = pointers(argument_strings);
  const std::vector<char*> envp = pointers(environment_strings);
  write(".stdin", input);

  const pid_t child = fork();
  if (child != 0) return child;
  // A shell that starts the tests in the background may have made them ignore these signals.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
  const int in = open(path(".stdin").c_str(), O_RDONLY);
  const int out = output_terminal >= 0
                      ? output_terminal
                      : open(path(".stdout").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = error_terminal >= 0
                      ? error_terminal
                      : open(path(".stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(folder.c_str()) != 0) {
    _exit(99);
  }
  execve(executable.c_str(), argv.data(), envp.data());
  _exit(99);
}

ending command::wait(pid_t child) const {
  int status = 0;
  const bool ended = becomes_true([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!ended) {
    ADD_FAILURE() << "readmost does not end";
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  const bool exited = WIFEXITED(status);
  return {exited, exited ? WEXITSTATUS(status) : WTERMSIG(status), child,
          output_terminal >= 0 ? "" : read(path(".stdout")),
          error_terminal >= 0 ? "" : read(path(".stderr"))};
}

void command::expect_refusal(const words& arguments, int status, const words& parts) const {
  const ending end = readmost(arguments);
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.code, status);
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
  for (const std::string& part : parts) EXPECT_THAT(end.err, HasSubstr(part));
}

void command::expect_refusal_of_somebody_elses_process(const std::string& verb) {
  // With a copy of the command that every user may run.
  fs::copy(READMOST_COMMAND, path("readmost"));
  fs::permissions(folder, fs::perms::all);
  const bool is_root = geteuid() == 0;
  executable = is_root ? "/usr/bin/setpriv" : path("readmost").string();
  words command_line{verb, "-p", "1"};
  if (is_root) {
    command_line.insert(command_line.begin(), {"--reuid=65534", "--regid=65534", "--clear-groups",
                                               path("readmost").string()});
  }
  expect_refusal(command_line, 125, {"process 1", "ptrace_scope", "sudo"});
}

std::string command::violations_in(const std::string& name, const std::string& schema) {
  executable = READMOST_JSONSCHEMA;
  const ending end = wait(start({"-i", path(name).string(), schema}));
  executable = READMOST_COMMAND;
  return end.code == 0 ? "" : "refused: " + end.out + end.err;
}

fs::path command::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
  return path(name);
}

fs::path command::script(const std::string& name, const std::string& lines) const {
  const fs::path file = write(name, "#!/bin/sh\n" + lines);
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

std::string command::read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string command::read_when_written(const fs::path& file) {
  EXPECT_TRUE(becomes_true([&] { return read(file).ends_with('\n'); }))
      << file << " stays unwritten";
  return read(file);
}

bool command::becomes(pid_t process, const std::string& program) {
  return becomes_true(
      [&] { return read(fmt::format("/proc/{}/comm", process)) == program + "\n"; });
}

bool command::vanishes(pid_t process) {
  return becomes_true([&] {
    // A zombie counts as terminated.
    const std::string state = read(fmt::format("/proc/{}/stat", process));
    return state.empty() || state.find(") Z ") != std::string::npos;
  });
}

}  // namespace readmost::command_test
