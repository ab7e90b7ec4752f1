// Runs a command line of the shell without the settings of the tests' own environment.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace readmost::tools_test {

struct outcome {
  int status;        // -1: ended by a signal
  std::string text;  // stdout and stderr
};

inline outcome run(const std::string& command) {
  const std::string whole =
      "unset READMOST_LOCK_CHECK READMOST_STATS; exec env " + command + " 2>&1";
  FILE* const pipe = popen(whole.c_str(), "r");
  if (pipe == nullptr) return {-2, "popen failed"};
  outcome result{0, ""};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    result.text.append(buffer, n);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace readmost::tools_test
