#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "commands.hpp"
#include "failure.hpp"
#include "process/signal_watch.hpp"
#include "terminal.hpp"
#include "top/rates.hpp"
#include "top/target.hpp"

namespace readmost::command {
namespace {

class screen {
 public:
  // `in_place`: overwrites the previous block on a terminal.
  void show(const std::string& text, bool in_place) {
    if (in_place && isatty(STDOUT_FILENO) == 1) {
      fmt::print("\x1b[H\x1b[J{}", text);
    } else {
      fmt::print("{}{}", is_first_ || !in_place ? "" : "\n", text);
    }
    is_first_ = false;
    if (std::fflush(stdout) != 0) {
      throw failure("cannot write to stdout: {}; redirect it to a file you may write",
                    std::strerror(errno));
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
    const top_rates rates = rates_between(before, now);
    shown.show(
        options.json ? as_json(target, rates) : as_block(target, rates, columns_of(STDOUT_FILENO)),
        !options.json);
    if (block == last) return 0;
    before = std::move(now);
  }
}

}  // namespace

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
