#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "failure.hpp"

namespace readmost::command {

command_line split_command_line(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto separator = std::ranges::find(words, "--");
  command_line line{{words.begin(), separator}, {}, separator != words.end()};
  if (line.separated) line.program.assign(separator + 1, words.end());
  return line;
}

std::vector<std::string> program_words(const CLI::App& command, const command_line& line) {
  std::vector<std::string> program = command.remaining();
  if (!program.empty() && program.front().starts_with('-')) {
    throw failure(exit_status::own_failure,
                  fmt::format("there is no option '{}'; see 'readmost {} --help'", program.front(),
                              command.get_name()));
  }
  if (program.empty()) {
    program = line.program;
  } else if (line.separated) {
    // The -- stood behind the program's name: it is the program's own.
    program.emplace_back("--");
    program.insert(program.end(), line.program.begin(), line.program.end());
  }
  if (program.empty()) {
    throw failure(exit_status::own_failure,
                  fmt::format("no program is named; add it after --, as in 'readmost {} -- "
                              "./server --port 80'",
                              command.get_name()));
  }
  return program;
}

void no_program_words(const CLI::App& command, const command_line& line) {
  if (!line.separated) return;
  throw failure(exit_status::own_failure,
                fmt::format("'--{}{}' has no place here: {} takes no program; see 'readmost {} "
                            "--help'",
                            line.program.empty() ? "" : " ", fmt::join(line.program, " "),
                            command.get_name(), command.get_name()));
}

std::vector<std::string> names_of_commands(const CLI::App& readmost) {
  std::vector<std::string> names;
  for (const CLI::App* command : readmost.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string manual_formatter::make_usage(const CLI::App* app, std::string name) const {
  const std::vector<std::string> commands = names_of_commands(*app);
  if (!commands.empty()) {
    return fmt::format("Usage: readmost {} [OPTIONS] ...\n", fmt::join(commands, "|"));
  }
  return fmt::format("Usage: {} [OPTIONS]{}\n", name,
                     app->get_prefix_command() ? " -- PROGRAM ARGS..." : "");
}

std::string manual_formatter::make_option_name(const CLI::Option* option,
                                               bool is_positional) const {
  const std::string name = CLI::Formatter::make_option_name(option, is_positional);
  // CLI11 shows the default of an optional value as --name{default}.
  const std::size_t brace = name.find('{');
  return brace == std::string::npos ? name : name.substr(0, brace) + "[=FILE]";
}

std::string manual_formatter::make_option_opts(const CLI::Option* option) const {
  const std::string value = option->get_type_name();
  return option->get_type_size() == 0 || value.empty() ? "" : " " + value;
}

std::string manual_formatter::make_subcommand(const CLI::App* command) const {
  const std::string description = command->get_description();
  return fmt::format("  {:<9}{}\n", command->get_name(),
                     description.substr(0, description.find('\n')));
}

CLI::Validator number_between(double low, double high, bool whole) {
  const std::string range =
      fmt::format("{} from {} to {}", whole ? "whole number" : "number", low, high);
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double value = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && stop == text.data() + text.size() && value >= low &&
            value <= high && (!whole || value == std::floor(value))) {
          return "";
        }
        return fmt::format("'{}' is out of range; give a {}", text, range);
      },
      "");
}

CLI::Validator some_text(const std::string& what) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        return text.empty() ? fmt::format("'' is empty; give {}", what) : "";
      },
      "");
}

}  // namespace readmost::command
