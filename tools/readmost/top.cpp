#include "top.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "command_line.hpp"
#include "failure.hpp"
#include "signal_watch.hpp"
#include "top_target.hpp"
#include "top_view.hpp"

namespace readmost::command {
namespace {

constexpr const char* description =
    R"(Show what the locks of a running program do.

Looks into a process that was started with 'readmost run --stats' and shows, each second, the ten
locks with most reads and writes: rates per second, and the 99th percentile of how long readers and
writers waited in that second. The process is only read (process_vm_readv), never stopped. Without
--stats there are the sums over all locks.
)";

constexpr const char* footer =
    R"(Examples:
  readmost top -p $(pidof server)
  readmost top -p 1234 -d 10 -n 6
  readmost top -p 1234 --json --once | jq '.hottest[0]'

Ends with the process, after -n blocks, or when it is interrupted.

Exit status: 0, except
  125  readmost could not do its part: no such process, not preloaded, not allowed
  143  a signal other than Ctrl-C ended it; 128 and its number)";

class screen {
 public:
  // In place on a terminal, one after the other elsewhere.
  void show(const std::string& text, bool in_place) {
    if (in_place && isatty(STDOUT_FILENO) == 1) {
      fmt::print("\x1b[H\x1b[J{}", text);
    } else {
      fmt::print("{}{}", is_first_ || !in_place ? "" : "\n", text);
    }
    is_first_ = false;
    if (std::fflush(stdout) != 0) {
      throw failure(exit_status::own_failure,
                    fmt::format("cannot write: {}", std::strerror(errno)));
    }
  }

 private:
  bool is_first_ = true;
};

enum class event { time_is_up, process_ended, interrupted };

event wait_for(double seconds, const top_target& target, const signal_watch& signals) {
  using namespace std::chrono;
  const auto end = steady_clock::now() + duration<double>(seconds);
  for (;;) {
    const auto left = ceil<milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) return event::time_is_up;
    pollfd watched[] = {{target.descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    if (poll(watched, std::size(watched), static_cast<int>(left)) <= 0) continue;
    if (watched[1].revents != 0) return event::interrupted;
    if (watched[0].revents != 0) return event::process_ended;
  }
}

int show_until_the_end(const top_options& options, top_target& target, signal_watch& signals) {
  const unsigned last = options.once ? 1 : options.count;
  screen shown;
  top_sample before = take_sample(target, nullptr);
  for (unsigned block = 1;; ++block) {
    switch (wait_for(options.delay, target, signals)) {
      case event::time_is_up:
        break;
      case event::process_ended:
        throw top_target::process_ended{};
      case event::interrupted:
        if (const int signal = signals.take_interruption(); signal != 0) {
          return signal == SIGINT ? 0 : exit_status::signal_base + signal;
        }
    }
    top_sample now = take_sample(target, &before);
    shown.show(
        options.json ? as_json(target, before, now).dump() + "\n" : as_block(target, before, now),
        !options.json);
    if (block == last) return 0;
    before = std::move(now);
  }
}

}  // namespace

CLI::App* add_top(CLI::App& readmost, top_options& options) {
  CLI::App* command = readmost.add_subcommand("top");
  command->set_help_flag("-h,--help", "say how to use it");
  command->description(description)->footer(footer);
  command->add_option("-p,--pid", options.pid, "the process to look at")
      ->check(number_between(1, 4'194'304, true))
      ->required()
      ->type_name("PID");
  command->add_option("-d,--delay", options.delay, "how long between two blocks (1)")
      ->check(number_between(0.01, 86'400, false))
      ->type_name("SECONDS");
  command
      ->add_option("-n,--count", options.count,
                   "how many blocks; without it, until the\nprocess ends")
      ->check(number_between(1, 1'000'000'000, true))
      ->type_name("COUNT");
  command->add_flag("--once", options.once, "one block, as -n 1");
  command->add_flag("--json", options.json, "one JSON object on a line instead of each\nblock");
  return command;
}

int top(const top_options& options) {
  signal_watch signals;
  top_target target(options.pid);
  try {
    return show_until_the_end(options, target, signals);
  } catch (const top_target::process_ended&) {
    pollfd process{target.descriptor(), POLLIN, 0};
    fmt::print(stderr, "readmost top: process {} ({}) {}\n", options.pid, target.program(),
               poll(&process, 1, 0) == 1 ? "has ended" : "has become another program");
    return 0;
  }
}

}  // namespace readmost::command
