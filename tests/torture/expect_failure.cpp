// SPDX-License-Identifier: Apache-2.0
#include "expect_failure.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace torture {

namespace {

pid_t start(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& one : arguments) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
  if (error != 0) {
    throw std::runtime_error(fmt::format(
        "cannot start /proc/self/exe: {}; --expect-failure needs /proc and a free process slot",
        std::strerror(error)));
  }
  return child;
}

// Describes the child's failure; empty if the child passed.
std::string failure_of(pid_t child, double patience) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "it did not end";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (WIFSIGNALED(status)) return fmt::format("it was ended by signal {}", WTERMSIG(status));
  switch (const int code = WEXITSTATUS(status)) {
    case exit_status::passed:
      return {};
    case exit_status::violated:
      return "a violation";
    case exit_status::hung:
      return "a hang";
    default:
      throw std::runtime_error(
          fmt::format("a scenario ended with status {}, which is neither a violation (1) nor a "
                      "hang (2); its message is above",
                      code));
  }
}

}  // namespace

int expect_failure(const std::string& lock, const std::vector<std::string>& scenarios,
                   const options& chosen, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    for (const std::string& name : scenarios) {
      const pid_t child = start(
          {"torture", "--stop-at-violation", "--lock", lock, "--scenario", name, "--seconds",
           fmt::to_string(chosen.seconds), "--stall", fmt::to_string(chosen.stall), "--threads",
           fmt::to_string(chosen.threads), "--seed", fmt::to_string(chosen.seed + round)});
      const std::string failure = failure_of(child, chosen.seconds + 2 * chosen.stall + 5);
      if (!failure.empty()) {
        fmt::print("{}: noticed by {}: {}\n", lock, name, failure);
        return 0;
      }
    }
  }
  fmt::print(stderr, "torture: {}: mutant survived {} scenarios, {} times {} s each\n", lock,
             scenarios.size(), rounds, chosen.seconds);
  return 1;
}

}  // namespace torture
