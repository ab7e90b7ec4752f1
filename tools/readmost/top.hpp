#pragma once

#include <CLI/CLI.hpp>

namespace readmost::command {

struct top_options {
  int pid = 0;
  double delay = 1;
  unsigned count = 0;  // 0: until the process ends
  bool once = false;
  bool json = false;
};

CLI::App* add_top(CLI::App& readmost, top_options& options);

// Returns the exit status.
int top(const top_options& options);

}  // namespace readmost::command
