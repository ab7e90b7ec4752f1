#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "signal_watch.hpp"

namespace readmost::command {

struct child_limits {
  std::chrono::duration<double> time;
  std::size_t output;  // bytes kept; of more than that, the last ones
};

struct child_result {
  enum class ending { exited, killed, timed_out, interrupted };
  ending how = ending::exited;
  int code = 0;  // exit status, or the signal that killed the child or interrupted us
  std::chrono::duration<double> elapsed{};
  std::string output;  // stdout and stderr as they came
  bool output_cut = false;
};

// Runs a program in a process group of its own, with nothing on stdin, until it ends, its time is
// over or we are interrupted. Nothing of the group is left behind when this returns.
child_result run_child(const std::filesystem::path& program, std::vector<std::string> arguments,
                       environment env, const child_limits& limits, signal_watch& signals);

}  // namespace readmost::command
