#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace readmost::command {

struct run_options {
  std::string lock;    // empty: as READMOST_LOCK says
  std::string prefer;  // empty: as READMOST_PREFER says
  std::string stats;   // empty: as READMOST_STATS says; "-": on stderr
  bool backtrace = false;
};

CLI::App* add_run(CLI::App& readmost, run_options& options);

// Becomes the program; returns only by throwing failure.
[[noreturn]] void run(const run_options& options, std::vector<std::string> program);

}  // namespace readmost::command
