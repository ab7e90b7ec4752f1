// The only source that includes CLI11, which takes seconds to compile.
#include "command_line.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "failure.hpp"
#include "help.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::command {
namespace {

using words = std::vector<std::string>;
using check = std::function<std::string(const std::string&)>;  // returns the error, or nothing

// --- Values of options ---------------------------------------------------------------------------

check number_between(double low, double high, bool whole) {
  return [=](const std::string& text) -> std::string {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && stop == text.data() + text.size() && value >= low &&
        value <= high && (!whole || value == std::floor(value))) {
      return "";
    }
    return fmt::format("'{}' is out of range; give a {} from {} to {}", text,
                       whole ? "whole number" : "number", low, high);
  };
}

check some_text(const std::string& what) {
  return [=](const std::string& text) {
    return text.empty() ? fmt::format("'' is empty; give {}", what) : "";
  };
}

check one_of(const std::string& what, const words& names) {
  return [=](const std::string& name) {
    if (std::ranges::find(names, name) != names.end()) return std::string();
    const words all_but_last(names.begin(), names.end() - 1);
    return fmt::format("unknown {} '{}'; choose {} or {}", what, name,
                       fmt::join(all_but_last, ", "), names.back());
  };
}

const words library_locks(detail::lock_names.begin(), detail::lock_names.end());

words compared_locks() {
  words locks{"glibc"};
  locks.insert(locks.end(), library_locks.begin(), library_locks.end());
  return locks;
}

// --- Help ----------------------------------------------------------------------------------------

words names_of_commands(const CLI::App& readmost) {
  words names;
  for (const CLI::App* command : readmost.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Prints options, usage lines and the list of commands in the manner of manual pages.
class manual_formatter : public CLI::Formatter {
 public:
  manual_formatter() { column_width(34); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (const words commands = names_of_commands(*app); !commands.empty()) {
      return fmt::format("Usage: readmost {} [OPTIONS] ...\n", fmt::join(commands, "|"));
    }
    return fmt::format("Usage: {} [OPTIONS]{}\n", name,
                       app->get_prefix_command() ? " -- PROGRAM ARGS..." : "");
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    // CLI11 shows the default of an optional value as --name{default}.
    const std::size_t brace = name.find('{');
    return brace == std::string::npos ? name : name.substr(0, brace) + "[=FILE]";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = option->get_type_name();
    return option->get_type_size() == 0 || value.empty() ? "" : " " + value;
  }
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string description = command->get_description();
    return fmt::format("  {:<9}{}\n", command->get_name(),
                       description.substr(0, description.find('\n')));
  }
};

// --- The subcommands and their options -----------------------------------------------------------

CLI::App* add_command(CLI::App& app, const char* name, const char* description,
                      const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, description);
  command->set_help_flag("-h,--help", "print this help");
  command->footer(footer);
  return command;
}

template <class Value>
CLI::Option* add_option(CLI::App* command, const char* name, Value& value, const char* type,
                        const char* description, const check& valid) {
  return command->add_option(name, value, description)->check(valid)->type_name(type);
}

void add_run(CLI::App& app, run_options& options) {
  CLI::App* command = add_command(app, "run", help::run,
                                  std::string("Other locks for --lock, to compare with:\n") +
                                      help::other_locks + help::run_footer);
  command->prefix_command();
  add_option(command, "--lock", options.lock, "NAME",
             "prwlock: Readmost's lock (the default)\n"
             "pthread: pass every call on to glibc's lock\n"
             "or another, listed below, to compare with;\n"
             "those keep no statistics",
             one_of("lock", library_locks));
  add_option(command, "--prefer", options.prefer, "WHOM",
             "whom to let in first: reader, writer, or phase-fair\n"
             "(by turns); or kind, the default: each lock's\n"
             "pthread kind decides (the default kind: reader)",
             one_of("preference", {"kind", "reader", "writer", "phase-fair"}));
  command->add_flag("--stats{-}", options.stats,
                    "print statistics at exit, in total and for each of\n"
                    "the ten hottest locks: as a table on stderr, or\n"
                    "in FILE, which is emptied first (as JSON, one\n"
                    "line per process, if its name ends in .json)");
  command->add_flag("--backtrace", options.backtrace,
                    "with --stats: print who used each lock first; costs\n"
                    "some microseconds for each new lock");
}

void add_compare(CLI::App& app, compare_options& options) {
  CLI::App* command =
      add_command(app, "compare", help::compare,
                  std::string(help::compare_locks) + help::other_locks + help::compare_footer);
  command->prefix_command();
  add_option(command, "--runs", options.runs, "N", "how often to run under each lock (default 5)",
             number_between(1, 1000, true));
  words locks = compared_locks();
  locks.emplace_back("all");
  add_option(command, "--locks", options.locks, "A,B,...",
             "the locks, the baseline first, or all; see below\n"
             "(default glibc,prwlock)",
             one_of("lock", locks))
      ->delimiter(',')
      ->allow_extra_args(false);
  CLI::Option* metric = add_option(command, "--metric", options.metric, "REGEX",
                                   "compare the number that the first group of this\n"
                                   "regular expression (RE2 syntax), or all of it,\n"
                                   "matches in stdout and stderr; higher is better",
                                   some_text("a regular expression"));
  command->add_flag("--lower", options.lower, "with --metric: lower is better")->needs(metric);
  add_option(command, "--json", options.json, "FILE",
             "write every value, the ratios and a description of\n"
             "this host to FILE",
             some_text("a file"));
  add_option(command, "--timeout", options.timeout, "SECONDS",
             "kill a run that takes longer (default 600)", number_between(0.01, 86400, false));
}

void add_top(CLI::App& app, top_options& options) {
  CLI::App* command = add_command(app, "top", help::top, help::top_footer);
  add_option(command, "-p,--pid", options.pid, "PID", "the process to look at",
             number_between(1, 4'194'304, true))
      ->required();
  add_option(command, "-d,--delay", options.delay, "SECONDS", "time between two blocks (1)",
             number_between(0.01, 86'400, false));
  add_option(command, "-n,--count", options.count, "COUNT",
             "number of blocks; without it, until the\nprocess ends",
             number_between(1, 1'000'000'000, true));
  command->add_flag("--once", options.once, "one block, as -n 1");
  command->add_flag("--json", options.json,
                    "print one JSON object per line instead of\neach block");
}

void add_doctor(CLI::App& app, doctor_options& options) {
  CLI::App* command = add_command(app, "doctor", help::doctor, help::doctor_footer);
  command->add_flag("--quick", options.quick, "measure for a fraction of the time");
  CLI::Option* as_json =
      command->add_flag("--json", options.json, "print JSON instead of the page");
  add_option(command, "--calibrate", options.calibrate, "FILE",
             "measure what a simulated machine needs instead, and\n"
             "write it to FILE, for 'readmost simulate'",
             some_text("a file"))
      ->excludes(as_json);
  command->add_flag("--only-pthread", options.only_pthread)->group("");
}

// --- Words ---------------------------------------------------------------------------------------

// Our own words and, after the first --, the program's, which must never be read as options.
struct split_words {
  words own;
  words program;
  bool separated = false;  // whether there was a --
};

split_words split(int argc, char** argv) {
  const words all(argv + std::min(argc, 1), argv + argc);
  const auto separator = std::ranges::find(all, "--");
  split_words line{{all.begin(), separator}, {}, separator != all.end()};
  if (line.separated) line.program.assign(separator + 1, all.end());
  return line;
}

// The program and its arguments; `run ls -l` without -- is understood as well.
words program_words(const CLI::App& command, const split_words& line) {
  words program = command.remaining();
  if (!program.empty() && program.front().starts_with('-')) {
    throw failure("unknown option '{}'; see 'readmost {} --help'", program.front(),
                  command.get_name());
  }
  if (program.empty()) {
    program = line.program;
  } else if (line.separated) {
    // The -- stood behind the program's name: it is the program's own.
    program.emplace_back("--");
    program.insert(program.end(), line.program.begin(), line.program.end());
  }
  if (program.empty()) {
    throw failure("no program is named; add it after --, as in 'readmost {} -- ./server --port 80'",
                  command.get_name());
  }
  return program;
}

void no_program_words(const CLI::App& command, const split_words& line) {
  if (!line.separated) return;
  throw failure("unexpected '--{}{}': {} takes no program; see 'readmost {} --help'",
                line.program.empty() ? "" : " ", fmt::join(line.program, " "), command.get_name(),
                command.get_name());
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
  return fmt::format("unknown command or option '{}'; choose one of {}", name,
                     fmt::join(names_of_commands(app), ", "));
}

// The message for words that CLI11 does not understand.
std::string complaint(const CLI::App& app, const CLI::ParseError& error, const words& own) {
  if (!app.get_subcommands().empty()) return error.what();
  if (!own.empty()) return unknown_command(app, own.front());
  return fmt::format("no command is given; choose one of {}",
                     fmt::join(names_of_commands(app), ", "));
}

}  // namespace

bool parse(int argc, char** argv, command_line& line) {
  // `help COMMAND` is `COMMAND --help`.
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    std::string name = argc > 2 ? argv[2] : "";
    std::string wish = "--help";
    std::vector<char*> same{argv[0], wish.data(), nullptr};
    if (argc > 2) same.insert(same.begin() + 1, name.data());
    return parse(static_cast<int>(same.size()) - 1, same.data(), line);
  }
  CLI::App app(help::readmost, "readmost");
  app.formatter(std::make_shared<manual_formatter>());
  app.footer(help::readmost_footer);
  app.set_version_flag("--version", "readmost " READMOST_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  add_run(app, line.run);
  add_compare(app, line.compare);
  add_top(app, line.top);
  add_doctor(app, line.doctor);
  // Written in Python, which parses their options.
  const CLI::App* bench =
      app.add_subcommand("bench", "Measure the figures of the papers on this machine.\n");
  const CLI::App* report = app.add_subcommand(
      "report", "Show the results of bench, figure by figure, as one HTML file.\n");

  // Programs of their own, for which the library is built once more.
  const CLI::App* simulate =
      app.add_subcommand("simulate", "Try locks on a machine that is described in a file.\n");
  const CLI::App* advise =
      app.add_subcommand("advise", "Say what would serve a program's locks best, by simulation.\n");

  const split_words split_line = split(argc, argv);
  for (const CLI::App* command : {bench, report, simulate, advise}) {
    if (split_line.own.empty() || split_line.own.front() != command->get_name()) continue;
    line.command = command->get_name();
    line.words.assign(argv + 1, argv + argc);
    return true;
  }
  // CLI11 would take `readmost sevrer --help` for `readmost --help`.
  const words known = names_of_commands(app);
  if (const words& own = split_line.own; !own.empty() && !own.front().starts_with('-') &&
                                         std::ranges::find(known, own.front()) == known.end()) {
    throw failure("{}; see 'readmost --help'", unknown_command(app, own.front()));
  }
  try {
    app.parse(words(split_line.own.rbegin(), split_line.own.rend()));
  } catch (const CLI::Success& wish) {
    app.exit(wish);
    return false;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    if (!chosen.empty()) line.command = chosen.front()->get_name();
    throw failure("{}; see 'readmost{}{} --help'", complaint(app, error, split_line.own),
                  chosen.empty() ? "" : " ", line.command);
  }

  const CLI::App& chosen = *app.get_subcommands().front();
  line.command = chosen.get_name();
  if (chosen.get_prefix_command()) {
    line.program = program_words(chosen, split_line);
  } else {
    no_program_words(chosen, split_line);
  }
  auto& locks = line.compare.locks;
  for (auto all = locks.begin(); (all = std::find(all, locks.end(), "all")) != locks.end();) {
    const words every = compared_locks();
    all = locks.insert(locks.erase(all), every.begin(), every.end());
  }
  return true;
}

}  // namespace readmost::command
