// SPDX-License-Identifier: Apache-2.0
#include "profile/formats.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "failure.hpp"
#include "output_file.hpp"
#include "process/environment.hpp"
#include "process/program_file.hpp"
#include "profile/scratch_folder.hpp"

namespace readmost::command {
namespace {

profile_format format_of(const std::string& name) {
  const auto ends_in = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends_in(".folded") || ends_in(".txt")) return profile_format::collapsed;
  if (ends_in(".pb.gz")) return profile_format::pprof;
  if (ends_in(".svg")) return profile_format::flame_graph;
  throw failure(
      "--profile: the ending of '{}' names no format; use .svg (a flame graph), .pb.gz (pprof), or "
      ".folded or .txt (collapsed stacks)",
      name);
}

// The programs that turn collapsed stacks into a flame graph have the same options.
std::filesystem::path flame_graph_tool() {
  const environment env;
  for (const char* name : {"inferno-flamegraph", "flamegraph.pl"}) {
    try {
      return find_program(name, env);
    } catch (const failure&) {
    }
  }
  // Debian's copy is in no folder of PATH.
  constexpr const char* in_debian = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  if (access(in_debian, X_OK) == 0) return in_debian;
  throw failure(
      "--profile: no program here draws flame graphs; install libdevel-nytprof-perl (Debian) or "
      "'cargo install inferno', or choose another ending: .folded or .pb.gz");
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs the tool with its stdout in a file.
int run_tool(std::vector<std::string> words, const std::filesystem::path& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  environment env;
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr,
                                argument_pointers(words).data(), env.pointers().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw cannot_run(words[0], error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Nothing in it means something to the tool, which copies it into the picture.
std::string title_of(const std::vector<process_profile>& processes) {
  std::string title = "Time lost to locks";
  if (!processes.empty()) title += " by " + processes.front().program;
  if (processes.size() > 1) title += fmt::format(" and {} more", processes.size() - 1);
  for (char& c : title) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::strchr(" ._+-", c) != nullptr;
    if (!plain) c = '_';
  }
  return title;
}

std::string as_flame_graph(const std::filesystem::path& tool,
                           const std::vector<process_profile>& processes) {
  const scratch_folder folder;
  const std::filesystem::path stacks = folder.path() / "stacks";
  const std::filesystem::path picture = folder.path() / "picture";
  std::string collapsed = as_collapsed(processes);
  if (collapsed.empty()) collapsed = "no thread lost time to a lock 1\n";
  output_file("--profile", stacks).write(collapsed);
  const int status = run_tool({tool.string(), "--title", title_of(processes), "--countname",
                               "nanoseconds", "--hash", stacks.string()},
                              picture);
  if (status != 0) {
    throw failure("--profile: '{}' failed; choose another ending: .folded or .pb.gz",
                  tool.string());
  }
  return content_of(picture);
}

// As a frame of collapsed stacks, which end at a semicolon.
std::string as_frame(std::string text) {
  for (char& c : text) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

std::string as_collapsed(const std::vector<process_profile>& processes) {
  std::string lines;
  for (const process_profile& process : processes) {
    for (const contention_stack& stack : process.stacks) {
      if (processes.size() > 1) {
        lines += as_frame(fmt::format("{} ({})", process.program, process.process)) + ";";
      }
      lines += as_frame("lock " + stack.lock) + ";";
      for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
        for (auto function = frame->functions.rbegin(); function != frame->functions.rend();
             ++function) {
          lines += as_frame(function->text) + ";";
        }
      }
      lines += fmt::format("{} {}\n", stack.deed, stack.nanoseconds);
    }
  }
  return lines;
}

profile_file::profile_file(const std::string& name)
    : format_(format_of(name)),
      tool_(format_ == profile_format::flame_graph ? flame_graph_tool() : ""),
      file_("--profile", name) {}

void profile_file::write(const std::vector<process_profile>& processes, double seconds) {
  switch (format_) {
    case profile_format::collapsed:
      return file_.write(as_collapsed(processes));
    case profile_format::pprof:
      return file_.write(as_pprof(processes, seconds));
    case profile_format::flame_graph:
      return file_.write(as_flame_graph(tool_, processes));
  }
}

}  // namespace readmost::command
