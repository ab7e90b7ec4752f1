// SPDX-License-Identifier: Apache-2.0
// readmost-scheduled: runs a program with the scheduler's help.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "keeper.hpp"
#include "kernel_half.hpp"

namespace readmost::scheduled {
namespace {

constexpr const char* usage =
    "usage: readmost-scheduled [--preload LIBRARIES] [--] PROGRAM [ARGUMENT...]\n"
    "       readmost-scheduled --check\n"
    "\n"
    "Runs a program that uses Readmost while the kernel notes which of its threads are\n"
    "switched out and what they hold for reading. Without the right to, or where the\n"
    "kernel cannot, the program runs without it, after one line on stderr.\n"
    "\n"
    "  --preload   LD_PRELOAD for the program, but not for this one\n"
    "  --check     say whether the kernel can do it here; exit status 1 if not\n"
    "  --help      print this\n"
    "\n"
    "The program's process keeps its id. Exit status: the program's; 2 for a wrong\n"
    "command line, 126 or 127 if the program cannot be run.\n";

int check() {
  const kernel_half half = load_kernel_half();
  if (half.problem.empty()) {
    std::puts("the kernel can note context switches");
    return 0;
  }
  std::printf("%s\n", half.problem.c_str());
  return 1;
}

// Above the numbers that programs expect for the files they open first.
constexpr int first_file = 100;

// Why the program runs without help; empty if it has some.
std::string prepare() {
  const kernel_half half = load_kernel_half();
  if (!half.problem.empty()) return half.problem;
  const std::string problem = start_keeper(half.notes->header);
  if (!problem.empty()) return problem;
  const int left = fcntl(half.file, F_DUPFD, first_file);
  if (left < 0 || setenv(READMOST_SWITCH_VARIABLE, std::to_string(left).c_str(), 1) != 0) {
    return std::strerror(errno);
  }
  return "";
}

int run(char** program, const char* preloaded) {
  unsetenv(READMOST_SWITCH_VARIABLE);
  const std::string problem = prepare();
  if (preloaded != nullptr) setenv("LD_PRELOAD", preloaded, 1);
  if (!problem.empty()) {
    std::fprintf(stderr, "readmost-scheduled: no help of the scheduler: %s\n", problem.c_str());
  }
  execvp(program[0], program);
  const int error = errno;
  std::fprintf(stderr, "readmost-scheduled: cannot run '%s': %s\n", program[0],
               std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

int wrong(const char* what, const char* argument) {
  std::fprintf(stderr, "readmost-scheduled: %s%s; see readmost-scheduled --help\n", what, argument);
  return 2;
}

int start(int count, char** arguments) {
  if (count < 2) return wrong("no program is named", "");
  const std::string first = arguments[1];
  if (first == "--help") {
    std::fputs(usage, stdout);
    return 0;
  }
  if (first == "--check") {
    return count == 2 ? check() : wrong("--check has no arguments, but has ", arguments[2]);
  }
  int next = 1;
  const char* preloaded = nullptr;
  if (first == "--preload") {
    if (count < 3) return wrong("--preload needs a value", "");
    preloaded = arguments[2];
    next = 3;
  }
  if (next < count && std::strcmp(arguments[next], "--") == 0) {
    ++next;
  } else if (next < count && arguments[next][0] == '-') {
    return wrong("unknown option ", arguments[next]);
  }
  return next < count ? run(arguments + next, preloaded) : wrong("no program is named", "");
}

}  // namespace
}  // namespace readmost::scheduled

int main(int count, char** arguments) {
  return readmost::scheduled::start(count, arguments);
}
