#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace readmost::command {

struct compare_options {
  int runs = 5;
  std::vector<std::string> locks{"glibc", "prwlock"};
  std::string metric;  // empty: wall time
  bool lower = false;
  std::string json;
  double timeout = 600;
};

CLI::App* add_compare(CLI::App& readmost, compare_options& options);

// Returns the exit status.
int compare(const compare_options& options, std::vector<std::string> program);

}  // namespace readmost::command
