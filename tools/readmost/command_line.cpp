// SPDX-License-Identifier: Apache-2.0
// The only source that includes CLI11, which takes seconds to compile.
#include "command_line.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>

#include "failure.hpp"
#include "help.hpp"
#include "process/child.hpp"
#include "process/environment.hpp"
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

// The names that each option admits, for completion.
std::map<const CLI::Option*, words>& choices() {
  static std::map<const CLI::Option*, words> of_options;
  return of_options;
}

check one_of(const std::string& what, const words& names) {
  return [=](const std::string& name) {
    if (std::ranges::find(names, name) != names.end()) return std::string();
    const words all_but_last(names.begin(), names.end() - 1);
    return fmt::format("unknown {} '{}'; choose {} or {}", what, name,
                       fmt::join(all_but_last, ", "), names.back());
  };
}

const words preferences{"kind", "reader", "writer", "phase-fair"};
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

template <class Value>
CLI::Option* add_choice(CLI::App* command, const char* name, Value& value, const char* type,
                        const char* description, const std::string& what, const words& names) {
  CLI::Option* option = add_option(command, name, value, type, description, one_of(what, names));
  choices()[option] = names;
  return option;
}

void add_run(CLI::App& app, run_options& options) {
  CLI::App* command = add_command(app, "run", help::run,
                                  std::string("Other locks for --lock, to compare with:\n") +
                                      help::other_locks + help::run_footer);
  command->prefix_command();
  add_choice(command, "--lock", options.lock, "NAME",
             "prwlock: Readmost's lock (the default)\n"
             "pthread: pass every call on to glibc's lock\n"
             "or another, listed below, to compare with;\n"
             "those keep no statistics",
             "lock", library_locks);
  add_choice(command, "--prefer", options.prefer, "WHOM",
             "whom to let in first: reader, writer, or phase-fair\n"
             "(by turns); or kind, the default: each lock's\n"
             "pthread kind decides (the default kind: reader)",
             "preference", preferences);
  command->add_flag("--stats{-}", options.stats,
                    "print statistics at exit, in total and for each of\n"
                    "the ten hottest locks: as a table on stderr, or\n"
                    "in FILE, which is emptied first (as JSON, one\n"
                    "line per process, if its name ends in .json; as\n"
                    "OpenMetrics if it ends in .prom)");
  command->add_flag("--backtrace", options.backtrace,
                    "with --stats: print who used each lock first; costs\n"
                    "some microseconds for each new lock");
  add_option(command, "--profile", options.profile, "FILE",
             "write who lost time to locks, by call stacks: a\n"
             "flame graph (.svg), pprof (.pb.gz) or collapsed\n"
             "stacks (.folded, .txt)",
             some_text("a file"));
  command->add_flag("--scheduler-help", options.scheduler_help,
                    "let the kernel note which threads are switched out\n"
                    "and what they hold (takes root, or CAP_BPF and\n"
                    "CAP_PERFMON; without them the program runs as ever)");
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
  add_choice(command, "--locks", options.locks, "A,B,...",
             "the locks, the baseline first, or all; see below\n"
             "(default glibc,prwlock)",
             "lock", locks)
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
  CLI::Option* as_json = command->add_flag("--json", options.json,
                                           "print one JSON object per line instead of\n"
                                           "each block");
  CLI::Option* metrics = add_option(command, "--openmetrics", options.open_metrics, "FILE",
                                    "instead of blocks, keep FILE up to date with all\n"
                                    "counts since the start, as OpenMetrics; - for stdout",
                                    some_text("a file, or - for stdout"))
                             ->excludes(as_json);
  CLI::Option* profile = add_option(command, "--profile", options.profile, "FILE",
                                    "instead of blocks, write who lost time to locks\n"
                                    "in the next seconds, as for run",
                                    some_text("a file"))
                             ->excludes(as_json)
                             ->excludes(metrics);
  add_option(command, "--seconds", options.seconds, "SECONDS",
             "with --profile: for how long (default 10)", number_between(0.01, 86'400, false))
      ->needs(profile);
}

void add_holders(CLI::App& app, holders_options& options) {
  CLI::App* command = add_command(app, "holders", help::holders, help::holders_footer);
  CLI::Option* process = add_option(command, "-p,--pid", options.pid, "PID", "a running process",
                                    number_between(1, 4'194'304, true));
  CLI::Option* core = add_option(command, "--core", options.core, "FILE",
                                 "a core file, as of gcore(1) or the kernel", some_text("a file"))
                          ->excludes(process);
  add_option(command, "program", options.program, "PROGRAM",
             "with --core: the program, if it lies elsewhere\nthan it did then",
             some_text("a file"))
      ->needs(core);
  add_option(command, "--json", options.json, "FILE",
             "write JSON to FILE too; -: to stdout, instead", some_text("a file, or -"));
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

void add_attach(CLI::App& app, attach_options& options) {
  CLI::App* command = add_command(app, "attach", help::attach, help::attach_footer);
  add_option(command, "unit", options.unit, "UNIT", "the service", some_text("a service"));
  CLI::Option* remove =
      command->add_flag("--remove", options.remove, "take the library away again");
  command->add_flag("--user", options.of_user, "a service of your own, as of systemctl --user");
  add_choice(command, "--lock", options.lock, "NAME", "as for run", "lock", library_locks)
      ->excludes(remove);
  add_choice(command, "--prefer", options.prefer, "WHOM", "as for run", "preference", preferences)
      ->excludes(remove);
  command->add_flag("--stats{-}", options.stats, "as for run")->excludes(remove);
  add_option(command, "--root", options.root, "DIR",
             "the root of another system, as of an image to build", some_text("a folder"));
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

// Commands that other programs execute: two in Python, two for which the library is built once
// more.
bool parses_own_options(const std::string& command) {
  constexpr std::array<std::string_view, 4> names{"bench", "report", "simulate", "advise"};
  return std::ranges::find(names, command) != names.end();
}

void add_commands(CLI::App& app, command_line& line) {
  app.formatter(std::make_shared<manual_formatter>());
  app.footer(help::readmost_footer);
  app.set_version_flag("--version", "readmost " READMOST_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  add_run(app, line.run);
  add_compare(app, line.compare);
  add_top(app, line.top);
  add_holders(app, line.holders);
  add_doctor(app, line.doctor);
  add_attach(app, line.attach);
  app.add_subcommand("bench", "Measure the figures of the papers on this machine.\n");
  app.add_subcommand("report", "Show the results of bench, figure by figure, as one HTML file.\n");
  app.add_subcommand("simulate", "Try locks on a machine that is described in a file.\n");
  app.add_subcommand("advise", "Say what would serve a program's locks best, by simulation.\n");
}

// --- Completion of words -------------------------------------------------------------------------

// The options in the help of a command that parses its own.
words options_in_help_of(const std::string& command) {
  const child_result run = run_to_end("/proc/self/exe", {"readmost", command, "--help"},
                                      environment(), {std::chrono::seconds(5), 100'000});
  words options;
  const RE2 option(R"((--[a-z][a-z-]*))");
  re2::StringPiece rest(run.output);
  for (std::string name; RE2::FindAndConsume(&rest, option, &name);) {
    if (std::ranges::find(options, name) == options.end()) options.push_back(name);
  }
  return options;
}

words long_names_of(const CLI::App& command) {
  words names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What may stand for the value of an option, behind the commas of a list.
words values_of(const CLI::Option& option, const std::string& typed) {
  const auto known = choices().find(&option);
  if (known == choices().end()) return {};
  const std::size_t comma = option.get_delimiter() == ',' ? typed.rfind(',') : std::string::npos;
  const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  words values;
  for (const std::string& name : known->second) values.push_back(before + name);
  return values;
}

words candidates_within(const CLI::App& command, const words& typed) {
  const std::string& last = typed.back();
  const std::size_t equals = last.find('=');
  if (last.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* option = command.get_option_no_throw(last.substr(0, equals));
    if (option == nullptr) return {};
    words values = values_of(*option, last.substr(equals + 1));
    for (std::string& value : values) value = last.substr(0, equals + 1) + value;
    return values;
  }
  if (const std::string& before = typed[typed.size() - 2]; before.starts_with('-')) {
    const CLI::Option* option = command.get_option_no_throw(before);
    if (option != nullptr && option->get_type_size() > 0 && option->get_expected_min() > 0) {
      return values_of(*option, last);
    }
  }
  return last.starts_with('-') ? long_names_of(command) : words{};
}

words candidates_for(const CLI::App& app, const words& typed) {
  if (typed.empty()) return {};
  if (typed.size() == 1 && typed.back().starts_with('-')) return long_names_of(app);
  if (typed.size() == 1 || (typed.size() == 2 && typed.front() == "help")) {
    words names = names_of_commands(app);
    if (typed.size() == 1) names.emplace_back("help");
    return names;
  }
  if (std::find(typed.begin(), typed.end() - 1, "--") != typed.end() - 1) return {};
  if (parses_own_options(typed.front())) {
    return typed.back().starts_with('-') ? options_in_help_of(typed.front()) : words{};
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == typed.front()) return candidates_within(*command, typed);
  }
  return {};
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
  add_commands(app, line);
  const split_words split_line = split(argc, argv);
  if (!split_line.own.empty() && parses_own_options(split_line.own.front())) {
    line.command = split_line.own.front();
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
  if (line.command == "attach" && line.attach.unit.empty()) {
    throw failure("no service is named; name one, as in 'readmost attach nginx'");
  }
  if (line.command == "holders" && line.holders.pid == 0 && line.holders.core.empty()) {
    throw failure(
        "no process is named; name one, as in 'readmost holders -p $(pidof server)', or a core "
        "file with --core");
  }
  auto& locks = line.compare.locks;
  for (auto all = locks.begin(); (all = std::find(all, locks.end(), "all")) != locks.end();) {
    const words every = compared_locks();
    all = locks.insert(locks.erase(all), every.begin(), every.end());
  }
  return true;
}

words completions(const words& typed) {
  command_line unused;
  CLI::App app(help::readmost, "readmost");
  add_commands(app, unused);
  words found = candidates_for(app, typed);
  std::erase_if(found, [&](const std::string& word) { return !word.starts_with(typed.back()); });
  std::ranges::sort(found);
  return found;
}

}  // namespace readmost::command
