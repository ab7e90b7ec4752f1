// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace readmost::command {

struct command_line {
  std::string command;  // the subcommand; empty until it is known
  run_options run;
  compare_options compare;
  top_options top;
  holders_options holders;
  doctor_options doctor;
  attach_options attach;
  std::vector<std::string> program;  // of `run` and `compare`, with its arguments
  // Of `bench`, `report` and `simulate`, which parse their own options.
  std::vector<std::string> words;
};

// Fills in `line`. Returns false after it has printed the help or the version. Throws failure for
// anything it does not understand.
bool parse(int argc, char** argv, command_line& line);

// What the last of the words, which stand behind `readmost`, may become; nothing where a file or
// another program is expected.
std::vector<std::string> completions(const std::vector<std::string>& words);

}  // namespace readmost::command
