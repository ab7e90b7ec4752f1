// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "process/environment.hpp"
#include "process/signal_watch.hpp"

namespace readmost::command {

struct child_limits {
  std::chrono::duration<double> time;
  std::size_t output;  // how many bytes to keep, the last ones
};

struct child_result {
  enum class ending { exited, killed, timed_out, interrupted };
  ending how = ending::exited;
  int code = 0;  // exit status, or the signal that killed the child or interrupted us
  std::chrono::duration<double> elapsed{};
  std::chrono::duration<double> limit{};
  std::chrono::duration<double> cpu_time{};  // of the child and of its children that it waited for
  std::string output;                        // stdout and stderr, interleaved
  bool output_cut = false;

  // "exited with status 1" and so on; empty for status 0.
  std::string problem() const;
};

// Runs a program in a process group of its own, with nothing on stdin, until it ends, its time is
// up or we are interrupted. No process of the group survives.
child_result run_child(const std::filesystem::path& program, std::vector<std::string> arguments,
                       environment env, const child_limits& limits, signal_watch& signals);

// The same for one run of which the caller needs the result: throws failure when interrupted.
child_result run_to_end(const std::filesystem::path& program, std::vector<std::string> arguments,
                        environment env, const child_limits& limits);

}  // namespace readmost::command
