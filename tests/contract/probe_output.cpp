// SPDX-License-Identifier: Apache-2.0
#include "probe_output.hpp"

#include <sys/wait.h>

#include <cstdio>

namespace contract {

std::string probe_output(const std::vector<std::string>& arguments,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string command = "exec env";
  for (const auto& [name, value] : environment) command += " '" + name + "=" + value + "'";
  command += " " CONTRACT_EMULATOR " '" CONTRACT_PROBE "'";
  for (const auto& argument : arguments) command += " '" + argument + "'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed\n";
  std::string output;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, n);
  }
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    output += "status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -status) + "\n";
  }
  return output;
}

}  // namespace contract
