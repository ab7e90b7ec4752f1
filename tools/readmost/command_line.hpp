#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace readmost::command {

// Our own words and, after the first --, the program's, which are never to be read as options.
struct command_line {
  std::vector<std::string> own;
  std::vector<std::string> program;
  bool separated = false;  // whether there was a --
};

command_line split_command_line(int argc, char** argv);

// The program and its arguments; `run ls -l` without -- is understood as well. Throws failure 125
// when no program is named.
std::vector<std::string> program_words(const CLI::App& command, const command_line& line);

// For commands that run none. Throws failure 125 when there is a --.
void no_program_words(const CLI::App& command, const command_line& line);

std::vector<std::string> names_of_commands(const CLI::App& readmost);

// Options, usage lines and the list of commands as a manual writes them.
class manual_formatter : public CLI::Formatter {
 public:
  manual_formatter() { column_width(34); }
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

// A number within bounds, with a message that says what was wrong.
CLI::Validator number_between(double low, double high, bool whole);

// Some text, with a message that asks for it.
CLI::Validator some_text(const std::string& what);

}  // namespace readmost::command
