// SPDX-License-Identifier: Apache-2.0
// Runs a command line of the shell and keeps what it prints.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace test {

struct outcome {
  int status;        // -1: ended by a signal
  std::string text;  // stdout and stderr
};

inline outcome run_in_shell(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
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

}  // namespace test
